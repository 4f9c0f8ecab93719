// Labels as they travel to and from the database: the text of a JSON object. A driver that makes objects of
// it by itself would lose a key such as `__proto__`.

import type { Labels } from '../../domain/targeting.ts';
import { storableText } from './storable-text.ts';

/** Null when there are none. */
export function labelsText(labels: Labels | undefined): string | null {
  if (labels === undefined || labels.size === 0) return null;
  const entries = [...labels].map(([key, value]) => [storableText(key), storableText(value)]);
  return JSON.stringify(Object.fromEntries(entries));
}

/** In the order of their keys. */
export function parseLabels(text: string): Labels {
  const stored: Readonly<Record<string, string>> = JSON.parse(text);
  return new Map(Object.entries(stored).sort(([left], [right]) => (left < right ? -1 : 1)));
}
