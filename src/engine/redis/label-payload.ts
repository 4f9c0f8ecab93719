// How the labels of one device are written into one text, and read back: `<revision> <pairs as JSON>`. The
// revision stands first, where a script finds it without reading the rest. Pairs, because a label may have
// a name that means something to an object.

import type { Labels } from '../../domain/targeting.ts';
import type { DeviceLabels, LabelNews } from '../../ports/label-cache.ts';
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

/** News of changed labels as one message: `[[appId, deviceId, revision], …]`. */
export function packLabelNews(news: readonly LabelNews[]): string {
  return JSON.stringify(news.map(({ appId, deviceId, revision }) => [appId, deviceId, revision]));
}

/** The news in a message; what is not understood is left out. */
export function parseLabelNews(message: string): readonly LabelNews[] {
  const value = parseJson(message);
  if (!Array.isArray(value)) return [];
  return value.filter(isNewsEntry).map(([appId, deviceId, revision]) => {
    return { appId, deviceId, revision };
  });
}

function isNewsEntry(entry: unknown): entry is [string, string, number] {
  return (
    Array.isArray(entry) &&
    typeof entry[0] === 'string' &&
    typeof entry[1] === 'string' &&
    Number.isSafeInteger(entry[2])
  );
}
