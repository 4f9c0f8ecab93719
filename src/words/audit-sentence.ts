// Sentences for audit entries, in the words of the console.

import type { AuditEntry, ReleaseStatus, Targeting } from '../contract/resource.ts';
import { BARE_REASON } from '../contract/rollout-plan.ts';
import { wordFor } from '../contract/text.ts';
import { isTargeted } from '../domain/decision/targeting.ts';

export type AuditSentence = {
  /** Sentence on the page of the subject, such as `Raised the rollout from 25 % to 50 %`. */
  readonly text: string;
  /** Sentence on other pages, around the subject's name: `Raised the rollout of `, ` from 25 % to 50 %`. */
  readonly around: readonly [before: string, after: string];
  /** Why it happened, as far as the values say it; null if they do not. */
  readonly why: string | null;
  /** Whether it says everything that changed, so that the values need no list. */
  readonly isWhole: boolean;
};

type Fields = Readonly<Record<string, unknown>>;

/** Sentence whose subject stands at `{}`, else at its end, and whether it says everything that changed. */
type Deed = readonly [template: string, isWhole: boolean];

/** Place of the subject in a sentence. */
const SUBJECT = '{}';

/** Actions whose sentence depends on what changed. */
const CHANGES = new Map<string, (was: Fields, is: Fields) => Deed>([
  ['release.serve', steered],
  ['release.publish', (_, is) => published('Published {}', is)],
  ['release.promote', (_, is) => published(`Promoted {} from ${String(is.from)}`, is)],
  ['release.withdraw', () => ['Withdrew {}', false]],
  ['release.complete', completed],
  ['release.retry', (_, is) => retried(is)],
  ['plan.create', (_, is) => planned(is)],
  ['app.update', appChanged],
  ['channel.update', channelChanged],
]);

/** Returns the sentence of an entry, without the actor and a full stop. */
export function auditSentence({ action, actor, before, after }: AuditEntry): AuditSentence {
  const [was, is] = [fieldsOf(before), fieldsOf(after)];
  const isSaid = Object.hasOwn(ACTIONS, action) && /^(?:plan\.|key\.revoke$)/.test(action);
  const words = actor.startsWith('plan:') ? OF_PLANS : ACTIONS;
  const [template, isWhole] = CHANGES.get(action)?.(was, is) ?? [wordFor(words, action), isSaid];
  const why = isSaid ? whyOf(is) : null;
  return { text: onItsPage(template), around: splitAtSubject(template), why, isWhole };
}

/** Returns the sentence for the page of the subject, which becomes "it" or is left out. */
function onItsPage(template: string): string {
  if (!template.includes(SUBJECT)) return template.replace(/ (?:of|on|as)$/, '');
  const [before, after] = splitAtSubject(template);
  return before.endsWith(' of ') ? `${before.slice(0, -4)}${after}` : `${before}it${after}`;
}

function splitAtSubject(template: string): readonly [before: string, after: string] {
  const at = template.indexOf(SUBJECT);
  return at < 0
    ? [`${template} `, '']
    : [template.slice(0, at), template.slice(at + SUBJECT.length)];
}

/** Returns the name of an entry's subject: if the subject is an id, the name in the values, if any. */
export function auditSubject({ subject, before, after }: AuditEntry): string {
  const name = fieldsOf(after).name ?? fieldsOf(before).name;
  return typeof name === 'string' && ID.test(subject) ? name : subject;
}

/** Returns whether an entry is about the person who caused it, so that no sentence need name the subject. */
export function isAboutActor({ actor, subject }: AuditEntry): boolean {
  return actor === `account:${subject}`;
}

const ID = /^[a-z]{3}_[0-9a-z]{26}$/;

const STATUS_VERBS: ReadonlyMap<unknown, string> = new Map<ReleaseStatus, string>([
  ['published', 'resumed {}'],
  ['paused', 'paused {}'],
  ['rolled_back', 'rolled {} back'],
  ['deprecated', 'deprecated {}'],
]);

function steered(was: Fields, is: Fields): Deed {
  const parts: string[] = [];
  if (was.status !== is.status) parts.push(statusVerb(was.status, is.status));
  if (was.rolloutPct !== is.rolloutPct) {
    const verb = Number(is.rolloutPct) < Number(was.rolloutPct) ? 'lowered' : 'raised';
    const from = isEmpty(was.rolloutPct) ? '' : ` from ${was.rolloutPct} %`;
    parts.push(`${verb} the rollout of {}${from} to ${is.rolloutPct} %`);
  }
  const isRetargeted = JSON.stringify(targetsOf(was)) !== JSON.stringify(targetsOf(is));
  if (isRetargeted) parts.push('changed whom {} is for');
  return [sentence(parts, 'Changed how {} is served'), parts.length > 0 && !isRetargeted];
}

function statusVerb(was: unknown, is: unknown): string {
  if (was === 'deprecated' && is === 'published') return 'published {} again';
  return STATUS_VERBS.get(is) ?? 'changed how {} is served';
}

function published(deed: string, is: Fields): Deed {
  const { rolloutPct, artifacts, status } = is;
  const held = status === 'paused' ? ', paused,' : '';
  const files = Number(artifacts) === 1 ? 'one artifact' : `${Number(artifacts)} artifacts`;
  return [`${deed}${held} at ${Number(rolloutPct)} % with ${files}`, targetsOf(is) === null];
}

function completed(was: Fields, is: Fields): Deed {
  const end = is.status === 'published' ? ', and published it' : '';
  const isNotesAlone = is.notes !== undefined && is.artifacts === was.artifacts;
  if (isNotesAlone) return [`Changed the notes of {}${end}`, true];
  return [`Completed {} to ${Number(is.artifacts)} artifacts${end}`, true];
}

function retried({ devices }: Fields): Deed {
  const who = devices === 1 ? 'one device' : `${devices} devices`;
  return [`Let ${devices === 'all' ? 'all devices' : who} try {} again`, devices !== 'all'];
}

function planned({ steps, guards, onTrip }: Fields): Deed {
  const list: readonly unknown[] = Array.isArray(steps) ? steps : [];
  const count = list.length === 1 ? 'one step' : `${list.length} steps`;
  const to = list.map((step) => `${Number(fieldsOf(step).rollout)} %`).join(', ');
  const trip = onTrip === 'pause' ? 'guards that pause it' : 'guards that hold the plan';
  const guarded = isEmpty(guards) ? 'no guards' : trip;
  return [`Planned the rollout of {} in ${count} (${to}), with ${guarded}`, true];
}

/** Returns why a plan changed, unless that only repeats the action. */
function whyOf({ why }: Fields): string | null {
  const isBare = Object.values<unknown>(BARE_REASON).includes(why);
  return typeof why !== 'string' || isBare ? null : why;
}

/** Words for a channel's settings. */
const SETTINGS: Readonly<Record<string, (value: unknown, was: unknown) => string>> = {
  minimumSupportedVersion: (value) =>
    value === null
      ? 'removed the minimum version of {}'
      : `set the minimum version of {} to ${value}`,
  defaultRollout: (value) => `set the default rollout of {} to ${value} %`,
  updateMode: (value) => `set the update mode of {} to ${value}`,
  requireSignature: (value) => `made signatures ${value === true ? 'required' : 'optional'} on {}`,
  follows: (value) => `made {} follow ${value === null ? 'no channel' : value}`,
  approvals: (value) => `turned approvals ${value === 'one' ? 'on' : 'off'} for {}`,
  approvalDays: (value) => `let requests for approvals on {} expire after ${value} days`,
  ddi: (value, was) =>
    isEmpty(value) !== isEmpty(was)
      ? `turned DDI ${isEmpty(value) ? 'off' : 'on'} for {}`
      : 'changed the DDI settings of {}',
};

function appChanged(was: Fields, is: Fields): Deed {
  const parts: string[] = [];
  if (is.name !== undefined) parts.push(`renamed {} from “${was.name}” to “${is.name}”`);
  if (is.archived === true) parts.push('archived {}');
  if (is.archived === false) parts.push('brought {} back');
  if (is.ddiAuth !== undefined) parts.push(`set the DDI authentication of {} to ${is.ddiAuth}`);
  return [sentence(parts, 'Changed the settings of {}'), parts.length > 0];
}

function channelChanged(was: Fields, is: Fields): Deed {
  const changed = Object.keys(is).filter(
    (name) => JSON.stringify(was[name]) !== JSON.stringify(is[name]),
  );
  const parts = changed.flatMap((name) => SETTINGS[name]?.(is[name], was[name]) ?? []);
  const isWhole = parts.length > 0 && parts.length === changed.length && !changed.includes('ddi');
  return [sentence(parts, 'Changed the settings of {}'), isWhole];
}

/** Joins parts to a sentence; only the first one names the subject. */
function sentence(parts: readonly string[], fallback: string): string {
  const [first, ...rest] = parts;
  if (first === undefined) return fallback;
  const begun = first.charAt(0).toUpperCase() + first.slice(1);
  return [begun, ...rest.map(onItsPage)].join(', ');
}

function fieldsOf(state: unknown): Fields {
  return typeof state === 'object' && state !== null ? (state as Fields) : {};
}

/** Returns the targeting of a state; null if it has no condition. */
function targetsOf({ targets }: Fields): Targeting | null {
  const given = isEmpty(targets) ? null : (targets as Targeting);
  return isTargeted(given) ? given : null;
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined;
}

const ACTIONS: Readonly<Record<string, string>> = {
  'account.add-passkey': 'Added a passkey of',
  'account.end-session': 'Ended a session of',
  'account.end-sessions': 'Ended the other sessions of',
  'account.fail-sign-in': 'Failed to sign in as',
  'account.join-provider': 'Joined to the provider',
  'account.recover': 'Made a link for lost passkeys of',
  'account.refuse-passkey': 'Refused a copied passkey of',
  'account.remove-passkey': 'Removed a passkey of',
  'account.reset-password': 'Made a password link for',
  'account.set-password': 'Set password of',
  'account.sign-in': 'Signed in as',
  'account.take-over': 'Took over the unused account',
  'account.use-recovery': 'Removed the lost passkeys of',
  'app.create': 'Created app',
  'channel.create': 'Added channel',
  'approval.approve': 'Approved what waited for',
  'approval.decline': 'Declined what waited for',
  'approval.expire': 'Let a request expire for',
  'approval.fail': 'Could not carry out what waited for',
  'approval.request': 'Asked for an approval for',
  'ddi-secret.add': 'Added a secret for the device tokens of',
  'ddi-secret.remove': 'Removed a secret for the device tokens of',
  'device-token.make': 'Made device tokens of',
  'device.erase': 'Erased a device of',
  'device.purge': 'Deleted devices of',
  'destination.create': 'Added destination of messages',
  'destination.disable': 'Turned off destination of messages',
  'destination.remove': 'Removed destination of messages',
  'destination.rotate': 'Renewed secret of destination',
  'destination.link': 'Sent a link to the recipient of destination',
  'destination.confirm': 'Confirmed, as its recipient, destination',
  'destination.decline': 'Declined, as its recipient, destination',
  'destination.update': 'Changed destination of messages',
  'edge-token.create': 'Created edge token',
  'edge-token.revoke': 'Revoked edge token',
  'gateway-token.create': 'Created gateway token',
  'gateway-token.revoke': 'Revoked gateway token',
  'invitation.create': 'Invited',
  'invitation.revoke': 'Revoked invitation',
  'key.create': 'Created key',
  'key.revoke': 'Revoked key',
  'member.join': 'Joined',
  'member.update': 'Changed the role of',
  'member.remove': 'Removed member',
  'organization.create': 'Created organization',
  'organization.update': 'Changed organization',
  'plan.advance': 'Ended the wait of the plan of',
  'plan.cancel': 'Cancelled the plan of',
  'plan.complete': 'Completed the plan of',
  'plan.hold': 'Held the plan of',
  'plan.resume': 'Resumed the plan of',
  'plan.start': 'Started the plan of',
  'webhook.disable': 'Disabled webhook',
  'webhook.enable': 'Enabled webhook',
  'webhook.update': 'Changed webhook',
};

/** Words for what a plan does by itself: in the passive, because nobody did it. */
const OF_PLANS: typeof ACTIONS = {
  ...ACTIONS,
  ...{ 'plan.hold': 'Was held on', 'plan.complete': 'Was completed on', 'plan.start': 'Began on' },
};
