// How the labels of one device are written into one text, and read back: `<revision> <pairs as JSON>`. The
// revision stands first, where a script finds it without reading the rest. Pairs, because a label may have
// a name that means something to an object.

import type { Labels } from '../../domain/targeting.ts';
import type { DeviceLabels } from '../../ports/label-cache.ts';
import { parseJson } from './payload.ts';

export function packLabelPayload({ labels, revision }: DeviceLabels): string {
  return `${revision} ${JSON.stringify([...labels])}`;
}

/** Labels and revision in a payload, or undefined when it is none. */
export function parseLabelPayload(
  payload: string,
): { readonly labels: Labels; readonly revision: number } | undefined {
  const [, digits] = /^(\d{1,15}) /.exec(payload) ?? [];
  if (digits === undefined) return undefined;
  const pairs = parseJson(payload.slice(digits.length + 1));
  return isLabelPairs(pairs) ? { labels: new Map(pairs), revision: Number(digits) } : undefined;
}

export function isLabelPairs(value: unknown): value is [string, string][] {
  return (
    Array.isArray(value) &&
    value.every(
      (pair) => Array.isArray(pair) && typeof pair[0] === 'string' && typeof pair[1] === 'string',
    )
  );
}
