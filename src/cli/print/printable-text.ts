// Values as text that a terminal may show.

import { showSteering } from '../../contract/text.ts';

/**
 * Returns a value as text on one line. Values such as device ids and labels come from strangers, so
 * characters that a terminal would obey, or that turn the text around them, are shown escaped. JSON stays the
 * same document.
 */
export function printableText(value: unknown): string {
  return showSteering((typeof value === 'string' ? value : JSON.stringify(value)) ?? '');
}
