// Search of devices: what a text asks for, and the filter that a page's query stands for.

import { SIGNALS } from '../../contract/choice.ts';
import type { Signal } from '../../contract/rollout-plan.ts';
import { parseVersion } from '../../domain/decision/version.ts';

export type Query = Readonly<Record<string, string>>;

const SEEN_MS: Readonly<Record<string, number>> = {
  hour: 3_600_000,
  day: 86_400_000,
  week: 7 * 86_400_000,
};

/** Query parameters that select devices, with the labels of their chips. */
export const CHIPS = {
  id: 'id',
  version: 'version',
  below: 'version below',
  channel: 'channel',
  platform: 'platform',
  label: 'label',
  offered: 'last offered',
  moved: 'installed what was offered',
  seen: 'seen in the last',
  signal: 'signal',
  release: 'of release',
} as const;

export type Name = keyof typeof CHIPS;
export const NAMES = Object.keys(CHIPS) as readonly Name[];

/** Reads a query: returns the filter in the form of the service, and whether the criteria are complete. */
export function readSearch(query: Query) {
  const { id, version, below, channel, platform, label, offered, moved } = query;
  const signal = readSignal(query.signal);
  const filter = {
    ...{ id, version, below, channel, platform, label, offered },
    ...{ moved: moved === '' ? undefined : moved, seenSince: seenSince(query.seen) },
  };
  const { release = '' } = query;
  return {
    filter,
    signal,
    release,
    isFiltered: NAMES.some((name) => (query[name] ?? '') !== ''),
    /** Whether the query names the release of its signal, if it has a signal. */
    isWhole: signal === undefined || (release !== '' && (channel ?? '') !== ''),
  };
}

/** Returns the signal of a query; undefined if there is none or it is unknown. */
export function readSignal(text: string | undefined): Signal | undefined {
  return SIGNALS.find((signal) => signal === text);
}

/** Returns the start of the selected time range, in whole minutes; undefined for any time. */
function seenSince(seen: string | undefined): string | undefined {
  const spanMs = seen !== undefined && Object.hasOwn(SEEN_MS, seen) ? SEEN_MS[seen] : undefined;
  if (spanMs === undefined) return undefined;
  return new Date(Math.floor(Date.now() / 60_000) * 60_000 - spanMs).toISOString();
}

/** Returns the criterion of a text: `key=value` is a label, `1.2` or `<1.2` a version, else part of an id. */
export function readLine(text: string): Readonly<Partial<Record<Name, string>>> {
  const line = text.trim();
  if (/^[^=\s]+=/.test(line)) return { label: line };
  const [, below] = /^<\s*(\S+)$/.exec(line) ?? [];
  if (below !== undefined && parseVersion(below) !== undefined) return { below };
  return parseVersion(line) !== undefined && line.includes('.') ? { version: line } : { id: line };
}
