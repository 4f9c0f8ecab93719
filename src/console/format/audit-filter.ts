// Filters of the audit in the words of the page, and the query by which the service is asked.

import type { AuditDeed } from '../../contract/audit-deed.ts';

type Deed = {
  /** Text by which a choice of the page is told from the others. */
  readonly value: string;
  readonly label: string;
  readonly action: string | undefined;
  readonly did: AuditDeed | undefined;
};

/**
 * Returns the filter for the service. The days `from` and `to` are whole days in the reader's zone; what is
 * no day filters nothing.
 */
export function auditFilter(query: Record<string, string>) {
  const { actor, action, did, subject, from, to } = query;
  return { actor, action, did, subject, since: startOf(from, 0), until: startOf(to, 1) };
}

/** What can have been done, as the entries say it. */
export const DEED_WORDS: readonly Deed[] = [
  deed('Anything'),
  deed('Published a release', 'release.publish'),
  deed('Promoted a release', 'release.promote'),
  deed('Raised a roll-out', 'release.serve', 'raised'),
  deed('Lowered a roll-out', 'release.serve', 'lowered'),
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
  deed('Minted or revoked keys', 'key'),
  deed('Changed webhooks', 'webhook'),
  deed('Changed members', 'member'),
  deed('Invited people', 'invitation'),
  deed('Signed in, or set a password', 'account'),
  deed('Changed the organization', 'organization'),
];

/** Returns the choice that a query of the page stands for; of another action, anything. */
export function deedOf({ action = '', did = '' }: Record<string, string>): string {
  const value = keyOf(action, did);
  return DEED_WORDS.some((each) => each.value === value) ? value : '';
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
