// The audit as a log: its filters and their query, the differences that a change made with words for the
// fields, and the CSV table.

import { TARGET_OPERATORS } from '../../contract/choice.ts';
import type { AuditDeed, AuditEntry, TargetExpression } from '../../contract/resource.ts';
import { wordFor } from '../../contract/text.ts';
import { auditSentence } from '../../words/audit-sentence.ts';
import { actorWords, CALL_DEEDS } from '../../words/name.ts';
import { consolePath } from './console-path.ts';
import { csvText } from './csv.ts';
import { momentText } from './figure-text.ts';
import { expressionText } from './targeting.ts';

type Deed = {
  /** Text that identifies the choice. */
  readonly value: string;
  readonly label: string;
  readonly action: string | undefined;
  readonly did: AuditDeed | undefined;
};

/** Returns the service's filter. `from` and `to` are whole days in the reader's zone; others are ignored. */
export function auditFilter(query: Record<string, string>) {
  const { actor, action, did, subject, from, to } = query;
  return { actor, action, did, subject, since: startOf(from, 0), until: startOf(to, 1) };
}

/** Choices of the filter "What was done". */
export const DEED_WORDS: readonly Deed[] = [
  deed('Anything'),
  deed('Published a release', 'release.publish'),
  deed('Promoted a release', 'release.promote'),
  deed('Raised a rollout', 'release.serve', 'raised'),
  deed('Lowered a rollout', 'release.serve', 'lowered'),
  deed('Paused a release', 'release.serve', 'paused'),
  deed('Resumed a release', 'release.serve', 'published'),
  deed('Rolled back a release', 'release.serve', 'rolled_back'),
  deed('Deprecated a release', 'release.serve', 'deprecated'),
  deed('Changed whom it is for', 'release.serve', 'retargeted'),
  deed('Withdrew a release', 'release.withdraw'),
  deed('Anything with releases', 'release'),
  deed('Anything with plans', 'plan'),
  deed('Changed channels', 'channel'),
  deed('Changed apps', 'app'),
  deed('Deleted devices', 'device'),
  deed('Created or revoked keys', 'key'),
  deed('Created or revoked gateway tokens', 'gateway-token'),
  deed('Changed webhooks', 'webhook'),
  deed('Changed notifications', 'destination'),
  deed('Changed members', 'member'),
  deed('Invited people', 'invitation'),
  deed('Signed in, or set a password', 'account'),
  deed('Changed the organization', 'organization'),
];

/** Returns the choice for a query of the page; '' (anything) for an unknown action. */
export function deedOf({ action = '', did = '' }: Record<string, string>): string {
  const value = keyOf(action, did);
  return DEED_WORDS.some((each) => each.value === value) ? value : '';
}

/** Returns the values of `from` and `to` in a query that are not days. */
export function unreadableDays({ from = '', to = '' }: Record<string, string>): readonly string[] {
  return [from, to].filter((day) => day !== '' && startOf(day, 0) === undefined);
}

function startOf(day: string | undefined, daysLater: number): string | undefined {
  const [, year, month, date] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day ?? '') ?? [];
  if (year === undefined) return undefined;
  const start = new Date(Number(year), Number(month) - 1, Number(date) + daysLater);
  return Number.isNaN(start.getTime()) ? undefined : start.toISOString();
}

function deed(label: string, action?: string, did?: AuditDeed): Deed {
  return { value: keyOf(action ?? '', did ?? ''), label, action, did };
}

function keyOf(action: string, did: string): string {
  return did === '' ? action : `${action}:${did}`;
}

export type Difference = {
  /** Path of the value, such as `targets › matchLabels › ring`; empty if the state is a single value. */
  readonly path: string;
  /** Value before the change; undefined if it is new. */
  readonly before: string | undefined;
  /** Value after the change; undefined if it was removed. */
  readonly after: string | undefined;
};

/** Maximum depth of nested values, above that of any audited state; deeper values are shown as JSON. */
const DEPTH_MAX = 4;
/** Maximum length of a shown value; the beginning of a longer one identifies it. */
const TEXT_LENGTH_MAX = 600;
/** Maximum number of listed differences; further ones are counted. */
const DIFFERENCES_MAX = 60;

/** Returns the values that differ, in the order of the fields. A list counts as one value, null as none. */
export function auditDifference(before: unknown, after: unknown): readonly Difference[] {
  const found: Difference[] = [];
  compare([], before, after, found);
  if (found.length <= DIFFERENCES_MAX) return found;
  const rest = found.length - DIFFERENCES_MAX;
  const more = { path: `${rest} more`, before: undefined, after: '…' };
  return [...found.slice(0, DIFFERENCES_MAX), more];
}

function compare(
  path: readonly string[],
  before: unknown,
  after: unknown,
  found: Difference[],
): void {
  const left = isRecord(before) ? before : undefined;
  const right = isRecord(after) ? after : undefined;
  const isWalked = left !== undefined || right !== undefined;
  const isBothWalked =
    (left ?? before ?? undefined) === left && (right ?? after ?? undefined) === right;
  if (isWalked && isBothWalked && path.length < DEPTH_MAX) {
    for (const key of new Set([...Object.keys(left ?? {}), ...Object.keys(right ?? {})])) {
      compare([...path, key], valueAt(left, key), valueAt(right, key), found);
    }
    return;
  }
  const field = path.at(-1) ?? '';
  const inWords = Object.hasOwn(WORDS_OF, field) ? WORDS_OF[field] : undefined;
  const [was, is] = [before, after].map((value) => {
    const text = spell(value);
    return text === undefined ? undefined : (inWords?.(text) ?? text);
  });
  if (was !== is) found.push({ path: path.join(' › '), before: cut(was), after: cut(is) });
}

function valueAt(record: Readonly<Record<string, unknown>> | undefined, key: string): unknown {
  return record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined;
}

function cut(text: string | undefined): string | undefined {
  if (text === undefined || text.length <= TEXT_LENGTH_MAX) return text;
  return `${text.slice(0, TEXT_LENGTH_MAX)}…`;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns whether a value is a targeting condition. */
function isExpression(value: unknown): value is TargetExpression {
  return (
    isRecord(value) &&
    typeof value.key === 'string' &&
    TARGET_OPERATORS.some((operator) => operator === value.operator) &&
    Array.isArray(value.values) &&
    value.values.every((each) => typeof each === 'string')
  );
}

/** Times as the service writes them. */
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/;

/** Words for the values of fields whose values are names in the service. */
const WORDS_OF: Readonly<Record<string, (text: string) => string>> = {
  requestedBy: actorWords,
  decidedBy: actorWords,
  operation: (text) => wordFor(CALL_DEEDS, text),
};

function spell(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return TIME.test(value) ? momentText(new Date(value)) : value;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) {
    return value.length === 0 ? 'none' : value.join(', ');
  }
  if (Array.isArray(value) && value.every(isExpression)) {
    return value.length === 0 ? 'none' : value.map(expressionText).join('; ');
  }
  return JSON.stringify(value);
}

const FIELD_WORDS: Readonly<Record<string, string>> = {
  rolloutPct: 'rollout in percent',
  defaultRollout: 'default rollout',
  minimumSupportedVersion: 'minimum version',
  updateMode: 'update mode',
  requireSignature: 'signatures required',
  approvalDays: 'days for an approval',
  ddi: 'DDI',
  ddiAuth: 'DDI authentication',
  pollSeconds: 'seconds between polls',
  keys: 'attributes',
  unknownVersion: 'while its version is unknown',
  retryAfterMinutes: 'minutes before a retry',
  askDays: 'days between attributes',
  hold: 'holds releases',
  newSecret: 'new secret',
  revokedAt: 'revoked',
  expiresAt: 'ends',
  tagPrefix: 'prefix of the tags',
  requestedBy: 'asked for by',
  decidedBy: 'decided by',
  operation: 'asked to',
  matchLabels: 'labels',
  matchExpressions: 'conditions',
};

/** Returns the words for a path such as `targets › matchLabels › ring`. */
export function fieldText(path: string): string {
  if (path === '') return 'value';
  return path
    .split(' › ')
    .map((name) => wordFor(FIELD_WORDS, name))
    .join(' › ');
}

/** Refs and channel names contain neither a slash nor an `@`. */
const PLACE = /^([^/]+)\/([^/@]+)(?:@(.+))?$/;

/** Returns the page of an entry's subject; undefined if there is none, or no longer. */
export function auditLink({ action, subject, after }: AuditEntry): string | undefined {
  const [, app, channel, version] = PLACE.exec(subject) ?? [];
  if (app === undefined || channel === undefined) return undefined;
  if (action.startsWith('channel.')) return consolePath.channel(app, channel);
  const isAboutRelease = action.startsWith('release.') || action.startsWith('plan.');
  if (!isAboutRelease || version === undefined) return undefined;
  return after === null
    ? consolePath.channel(app, channel)
    : consolePath.release(app, channel, version);
}

// The audit as CSV (RFC 4180).

const CSV_COLUMNS = [
  'at',
  'actor',
  'action',
  'what',
  'subject',
  'reason',
  'before',
  'after',
  'request',
];

/** Returns one line per entry, below a line with the column names. */
export function auditCsv(entries: readonly AuditEntry[]): string {
  const rows = entries.map((entry) => {
    const { text, why } = auditSentence(entry);
    return [
      ...[entry.at, entry.actor, entry.action, text, entry.subject, entry.reason ?? why ?? ''],
      ...[stateText(entry.before), stateText(entry.after), entry.requestId ?? ''],
    ];
  });
  return csvText([CSV_COLUMNS, ...rows]);
}

function stateText(state: unknown): string {
  return state === null || state === undefined ? '' : JSON.stringify(state);
}
