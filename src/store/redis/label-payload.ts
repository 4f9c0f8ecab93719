// Serialisation of the labels of one device: `<revision> <pairs as JSON>`. The revision comes first, so that
// a Lua script can read it without parsing the rest. Labels are pairs rather than an object, because a label
// may be named `__proto__`.

import type { Labels } from '../../domain/decision/targeting.ts';
import { isLabelPairs, parseJson } from '../../domain/fleet/check-in-payload.ts';
import type { LabelNews, StoredLabels } from '../label-store.ts';

export function packLabelPayload({ labels, revision }: StoredLabels): string {
  return `${revision} ${JSON.stringify([...labels])}`;
}

/** Parses labels and revision; returns undefined when the text is not such a payload. */
export function parseLabelPayload(
  payload: string,
): { readonly labels: Labels; readonly revision: number } | undefined {
  const [, digits] = /^(\d{1,15}) /.exec(payload) ?? [];
  if (digits === undefined) return undefined;
  const pairs = parseJson(payload.slice(digits.length + 1));
  return isLabelPairs(pairs) ? { labels: new Map(pairs), revision: Number(digits) } : undefined;
}

/** Serialises the announcement of changed labels: `[[appId, deviceId, revision], …]`. */
export function packLabelNews(news: readonly LabelNews[]): string {
  return JSON.stringify(news.map(({ appId, deviceId, revision }) => [appId, deviceId, revision]));
}

/** Parses an announcement of changed labels; malformed entries are left out. */
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
