// One sentence for each event, in plain words: where, what happened, by whom and why. Slack messages and
// mails begin with it.

import type { EventType, NotificationEvent } from '../contract/notification.ts';
import type { AskedOperation } from '../contract/resource.ts';
import { platformName } from '../contract/text.ts';
import { actorWords, countWords, placeWords } from './name.ts';

type EventOf<Type extends EventType> = Extract<NotificationEvent, { readonly type: Type }>;
type DataOf<Type extends EventType> = EventOf<Type>['data'];
type Sentences = { readonly [Type in EventType]: (data: DataOf<Type>) => string };
type Served = DataOf<'release.published'>;
type Approval = DataOf<'approval.requested'>;
type Tripped = DataOf<'plan.tripped'>;

/** Longest sentence, in characters: names and reasons are shorter, but each event has several. */
const SENTENCE_LENGTH_MAX = 1000;

/**
 * Returns the sentence of an event, in one line, with a full stop. It holds names and reasons as people gave
 * them: the caller escapes it.
 */
export function eventSentence(event: NotificationEvent): string {
  // The type chooses the function whose data it has. A newer node may have written other types.
  const say = SENTENCES[event.type] as ((data: NotificationEvent['data']) => string) | undefined;
  const line = (say?.(event.data) ?? `${placeOf(event.data)}: ${event.type}`)
    .replaceAll(LINE_BREAKS, ' ')
    .trim();
  const cut =
    line.length > SENTENCE_LENGTH_MAX ? `${line.slice(0, SENTENCE_LENGTH_MAX - 1)}…` : line;
  return /[.!?…]$/.test(cut) ? cut : `${cut}.`;
}

/** Control characters and separators of lines, alone or in a row. */
const LINE_BREAKS = /[\p{Cc}\u2028\u2029]+/gu;

const SENTENCES: Sentences = {
  'release.published': (data) => said(data, `published${rolloutOf(data)}`),
  'release.raised': (data) => said(data, `raised ${raiseOf(data)}`),
  'release.paused': (data) =>
    said(data, data.stop === undefined ? 'paused' : `stopped${ofMany(data, ' with its app')}`),
  'release.resumed': (data) => said(data, `published again${ofMany(data, rolloutOf(data))}`),
  'release.rolled_back': (data) => said(data, 'rolled back'),
  'release.deprecated': (data) => said(data, 'deprecated'),
  'release.retargeted': (data) => said(data, 'offered to other devices'),
  'release.withdrawn': (data) => said(data, 'withdrawn'),
  'release.promoted': (data) => said(data, `promoted from ${data.from}${rolloutOf(data)}`),
  'plan.started': (data) =>
    said(data, `goes out by a plan of ${countWords(data.plan.steps, 'step')}`),
  'plan.step': (data) => {
    const { step, steps, rollout } = data.plan;
    return `${placeOf(data)} is at ${rollout} %: step ${step} of ${steps} of its plan began`;
  },
  'plan.waiting': (data) => `${placeOf(data)} waits with its next step: ${data.waitingFor.reason}`,
  'plan.tripped': (data) => `${placeOf(data)} stopped by its guard: ${trippedGuards(data)}`,
  'plan.held': (data) => said(data, 'goes no further: its plan was held'),
  'plan.completed': (data) => `${placeOf(data)} completed its plan${because(data.reason)}`,
  'plan.cancelled': (data) => said(data, 'goes on without its plan, which was cancelled'),
  'edge.refused': ({ edge }) =>
    `Edge ${edge.name} (${edge.prefix}…) was refused: its token is revoked`,
  'key.created': (data) => `Key ${data.key.name} (${data.key.prefix}…) created${author(data)}`,
  'key.revoked': (data) => `Key ${data.key.name} (${data.key.prefix}…) revoked${author(data)}`,
  'member.changed': (data) => `${memberChange(data)}${author(data)}`,
  'approval.requested': (data) =>
    asked(data, `waits for an approval, asked for by ${actorWords(data.approval.requestedBy)}`),
  'approval.approved': (data) => asked(data, `was approved${decider(data)}`),
  'approval.declined': (data) => asked(data, `was declined${decider(data)}`),
  'approval.expired': (data) => asked(data, 'was not approved in time'),
  'approval.failed': (data) => asked(data, 'was approved and could not be done'),
  'destination.disabled': ({ destination, reason }) =>
    `Notifications to ${destination.name} (${destination.kind}) are switched off${because(reason)}`,
  test: (data) => `This is a test of ${data.destination.name}, sent${author(data)}`,
};

type Place = Pick<Served, 'app' | 'channel' | 'version' | 'actor' | 'reason' | 'organization'>;

function said(data: Place, deed: string): string {
  return `${placeOf(data)} ${deed}${author(data)}${because(data.reason)}`;
}

/** Names what an event is about, such as `desktop beta 2.5.0-beta.1`; else the organization. */
function placeOf(place: Place): string {
  return placeWords(place) || place.organization.name;
}

function author({ actor }: Place): string {
  return ` by ${actorWords(actor)}`;
}

function because(reason: string | null): string {
  return reason === null ? '' : `: ${reason}`;
}

function rolloutOf({ rollout, status }: Served): string {
  return rollout === undefined || status !== 'published' ? '' : ` at ${rollout} %`;
}

/** Says how many releases a stop, or its end, changed, if one event stands for all of them; else `alone`. */
function ofMany({ releases }: Served, alone: string): string {
  return releases === undefined ? alone : `, ${countWords(releases, 'release')}`;
}

function raiseOf({ rollout, rolloutBefore }: Served): string {
  const from = rolloutBefore === undefined ? '' : `from ${rolloutBefore} % `;
  return `${from}to ${rollout} %`;
}

/** Lists the guards that stopped a plan: `stuck 14.6 % of 205 devices (limit 2.5 %), Windows 39.5 %`. */
function trippedGuards({ guards }: Tripped): string {
  return guards
    .filter(({ tripped }) => tripped)
    .map(({ guard, percent, base, limit, platform }) => {
      const rate = `${guard} ${percent} % of ${countWords(base, 'device')} (limit ${limit} %)`;
      // An older node may have written the event without a platform.
      if (platform === null || platform === undefined) return rate;
      return `${rate}, ${platformName(platform.name)} ${platform.percent} %`;
    })
    .join('; ');
}

function memberChange({ member, organization }: DataOf<'member.changed'>): string {
  const { email, role, roleBefore } = member;
  if (role === null) return `${email} is no longer a member of ${organization.name}, removed`;
  if (roleBefore === null) return `${email} joined ${organization.name} as ${role}, invited`;
  return `${email} is now ${role} of ${organization.name}, was ${roleBefore}, changed`;
}

/** Calls that may wait, in words. */
const CALLS: Readonly<Record<AskedOperation, string>> = {
  publishRelease: 'publish',
  promoteRelease: 'promotion',
  controlServing: 'change of its serving',
  planRollout: 'rollout plan',
  steerPlan: 'going on of its plan',
  resumeStop: 'end of a stop',
  updateChannel: 'change of its settings',
};

/** Says what became of a call that waits: `desktop beta 2.5.0: publish was approved`. */
function asked(data: Approval, fate: string): string {
  return `${placeOf(data)}: ${CALLS[data.approval.operation]} ${fate}${because(data.reason)}`;
}

function decider({ approval }: Approval): string {
  return approval.decidedBy === null ? '' : ` by ${actorWords(approval.decidedBy)}`;
}
