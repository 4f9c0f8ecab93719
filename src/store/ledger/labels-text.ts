// Conversion of labels to and from the text of a JSON object, the form in which they travel to and from the
// database. A driver that parsed the JSON itself would lose a key such as `__proto__`.

import { storableText } from '../../contract/text.ts';
import type { Labels } from '../../domain/decision/targeting.ts';

/**
 * Returns the text of labels that are written; null when there are none. A label that was sent before the
 * rest is an array of its value and its time in milliseconds since 1970.
 */
export function labelsText(
  labels: Labels | undefined,
  times?: ReadonlyMap<string, number>,
): string | null {
  if (labels === undefined || labels.size === 0) return null;
  const entries = [...labels].map(([key, value]) => {
    const text = storableText(value);
    const sentAt = times?.get(key);
    return [storableText(key), sentAt === undefined ? text : [text, Math.trunc(sentAt)]];
  });
  return JSON.stringify(Object.fromEntries(entries));
}

/** Returns the labels in the order of their keys. */
export function parseLabels(text: string): Labels {
  const stored: Readonly<Record<string, string>> = JSON.parse(text);
  return new Map(Object.entries(stored).sort(([left], [right]) => (left < right ? -1 : 1)));
}
