// Sentences for audit entries, in the words of the page.

import type { AuditEntry, ReleaseStatus, Targeting } from '../../contract/resource.ts';
import { isTargeted } from '../../domain/decision/is-targeted.ts';
import { consolePath } from './console-path.ts';

export type AuditSentence = {
  /** Sentence without a full stop, such as `Raised the rollout from 25 % to 50 %`. */
  readonly text: string;
  /** Whether it says everything that changed, so that the values need no list. */
  readonly isWhole: boolean;
};

type Fields = Readonly<Record<string, unknown>>;

/** Returns the sentence of an entry. */
export function auditSentence({ action, before, after }: AuditEntry): AuditSentence {
  const [was, is] = [fieldsOf(before), fieldsOf(after)];
  switch (action) {
    case 'release.serve':
      return steered(was, is);
    case 'release.publish':
    case 'release.promote':
      return { text: published(action, is), isWhole: targetsOf(is) === null };
    case 'release.withdraw':
      return { text: 'Withdrew it', isWhole: false };
    case 'release.complete':
      return { text: completed(is), isWhole: true };
    case 'plan.create':
      return { text: planned(is), isWhole: true };
    case 'plan.start':
    case 'plan.hold':
    case 'plan.resume':
    case 'plan.advance':
    case 'plan.complete':
    case 'plan.cancel':
      return { text: planSteered(action, is), isWhole: true };
    case 'app.update':
      return appChanged(was, is);
    case 'channel.update':
      return channelChanged(was, is);
    default:
      return { text: actionText(action), isWhole: false };
  }
}

/** Returns the page of an entry's subject; undefined if there is none, or no longer. */
export function auditLink({ action, subject, after }: AuditEntry): string | undefined {
  const [, app, channel, version] = SUBJECT.exec(subject) ?? [];
  if (app === undefined || channel === undefined) return undefined;
  if (action.startsWith('channel.')) return consolePath.channel(app, channel);
  const isAboutRelease = action.startsWith('release.') || action.startsWith('plan.');
  if (!isAboutRelease || version === undefined) return undefined;
  return after === null
    ? consolePath.channel(app, channel)
    : consolePath.release(app, channel, version);
}

/** Refs and channel names contain neither a slash nor an `@`. */
const SUBJECT = /^([^/]+)\/([^/@]+)(?:@(.+))?$/;

const STATUS_VERBS: Readonly<Record<ReleaseStatus, string>> = {
  published: 'resumed it',
  paused: 'paused it',
  rolled_back: 'rolled it back',
  deprecated: 'deprecated it',
};

function steered(was: Fields, is: Fields): AuditSentence {
  const parts: string[] = [];
  if (was.status !== is.status) parts.push(statusVerb(was.status, is.status));
  if (was.rolloutPct !== is.rolloutPct) {
    const verb = Number(is.rolloutPct) < Number(was.rolloutPct) ? 'lowered' : 'raised';
    const from = isEmpty(was.rolloutPct) ? '' : ` from ${was.rolloutPct} %`;
    parts.push(`${verb} the rollout${from} to ${is.rolloutPct} %`);
  }
  const isRetargeted = JSON.stringify(targetsOf(was)) !== JSON.stringify(targetsOf(is));
  if (isRetargeted) parts.push('changed whom it is for');
  return {
    text: sentence(parts, 'Changed how it is served'),
    isWhole: parts.length > 0 && !isRetargeted,
  };
}

function statusVerb(was: unknown, is: unknown): string {
  if (was === 'deprecated' && is === 'published') return 'published it again';
  return isStatus(is) ? STATUS_VERBS[is] : 'changed how it is served';
}

function isStatus(value: unknown): value is ReleaseStatus {
  return typeof value === 'string' && Object.hasOwn(STATUS_VERBS, value);
}

function published(action: string, { rolloutPct, artifacts, status, from }: Fields): string {
  const verb = action === 'release.promote' ? `Promoted it from ${String(from)}` : 'Published it';
  const held = status === 'paused' ? ', paused,' : '';
  const files = Number(artifacts) === 1 ? 'one artifact' : `${Number(artifacts)} artifacts`;
  return `${verb}${held} at ${Number(rolloutPct)} % with ${files}`;
}

function completed({ artifacts, status }: Fields): string {
  const end = status === 'published' ? ', and published it' : '';
  return `Completed it to ${Number(artifacts)} artifacts${end}`;
}

function planned({ steps, guards, onTrip }: Fields): string {
  const list: readonly unknown[] = Array.isArray(steps) ? steps : [];
  const count = list.length === 1 ? 'one step' : `${list.length} steps`;
  const to = list.map((step) => `${Number(fieldsOf(step).rollout)} %`).join(', ');
  const trip = onTrip === 'pause' ? 'guards that pause it' : 'guards that hold the plan';
  return `Planned the rollout in ${count} (${to}), with ${isEmpty(guards) ? 'no guards' : trip}`;
}

const PLAN_DEEDS: Readonly<Record<string, string>> = {
  'plan.start': 'Started its plan',
  'plan.hold': 'Held its plan',
  'plan.resume': 'Resumed its plan',
  'plan.advance': 'Ended the wait of its plan',
  'plan.complete': 'Completed its plan',
  'plan.cancel': 'Cancelled its plan',
};

/** Reasons that only repeat the action. */
const BARE_WHYS: ReadonlySet<unknown> = new Set(['Held', 'Cancelled']);

function planSteered(action: string, { why }: Fields): string {
  const deed = PLAN_DEEDS[action] ?? actionText(action);
  return typeof why !== 'string' || BARE_WHYS.has(why) ? deed : `${deed}: ${why}`;
}

/** Words for a channel's settings. */
const SETTINGS: Readonly<Record<string, (value: unknown) => string>> = {
  minimumSupportedVersion: (value) =>
    value === null ? 'removed the minimum version' : `set the minimum version to ${value}`,
  defaultRollout: (value) => `set the default rollout to ${value} %`,
  updateMode: (value) => `set the update mode to ${value}`,
  requireSignature: (value) => (value === true ? 'requires signatures' : 'requires no signatures'),
  follows: (value) => (value === null ? 'made it follow no channel' : `made it follow ${value}`),
  approvals: (value) => (value === 'one' ? 'turned approvals on' : 'turned approvals off'),
  approvalDays: (value) => `let requests for approvals expire after ${value} days`,
};

function appChanged(was: Fields, is: Fields): AuditSentence {
  const parts: string[] = [];
  if (is.name !== undefined) parts.push(`renamed it from “${was.name}” to “${is.name}”`);
  if (is.archived === true) parts.push('archived it');
  if (is.archived === false) parts.push('brought it back');
  return { text: sentence(parts, 'Changed app'), isWhole: parts.length > 0 };
}

function channelChanged(was: Fields, is: Fields): AuditSentence {
  const changed = Object.keys(is).filter((name) => was[name] !== is[name]);
  const parts = changed.flatMap((name) => SETTINGS[name]?.(is[name]) ?? []);
  return {
    text: sentence(parts, 'Changed channel'),
    isWhole: parts.length > 0 && parts.length === changed.length,
  };
}

function sentence(parts: readonly string[], fallback: string): string {
  const [first, ...rest] = parts;
  if (first === undefined) return fallback;
  return [first.charAt(0).toUpperCase() + first.slice(1), ...rest].join(', ');
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
  'account.use-recovery': 'Removed the lost passkeys of',
  'app.create': 'Created app',
  'app.update': 'Changed app',
  'channel.create': 'Added channel',
  'approval.approve': 'Approved what waited for',
  'approval.decline': 'Declined what waited for',
  'approval.expire': 'Let a request expire for',
  'approval.fail': 'Could not carry out what waited for',
  'approval.request': 'Asked for an approval for',
  'channel.update': 'Changed channel',
  'device.erase': 'Erased a device of',
  'device.purge': 'Deleted devices of',
  'destination.create': 'Added destination of messages',
  'destination.disable': 'Turned off destination of messages',
  'destination.remove': 'Removed destination of messages',
  'destination.rotate': 'Renewed secret of destination',
  'destination.update': 'Changed destination of messages',
  'invitation.create': 'Invited',
  'invitation.revoke': 'Revoked invitation',
  'key.create': 'Created key',
  'key.revoke': 'Revoked key',
  'member.join': 'Joined',
  'member.update': 'Changed role',
  'member.remove': 'Removed member',
  'organization.create': 'Created organization',
  'organization.update': 'Changed organization',
  'plan.advance': 'Advanced the plan of',
  'plan.cancel': 'Cancelled the plan of',
  'plan.complete': 'Completed the plan of',
  'plan.create': 'Planned the rollout of',
  'plan.hold': 'Held the plan of',
  'plan.resume': 'Resumed the plan of',
  'plan.start': 'Started the plan of',
  'release.complete': 'Completed release',
  'release.promote': 'Promoted release',
  'release.publish': 'Published release',
  'release.serve': 'Changed release',
  'release.withdraw': 'Withdrew release',
  'webhook.disable': 'Disabled webhook',
  'webhook.enable': 'Enabled webhook',
  'webhook.update': 'Changed webhook',
};

/** Returns the text for an action; an unknown one is shown by its name. */
function actionText(action: string): string {
  return Object.hasOwn(ACTIONS, action) ? (ACTIONS[action] ?? action) : action;
}
