// Text of a targeting in a statement, as `isTargeted` sees it.

import { NO_CONDITIONS } from '../../domain/decision/is-targeted.ts';

/**
 * Returns the expression for the text of a targeting in a column of JSON or its text; null where there is no
 * condition. Targeting is stored as the service writes it, so that one text says that there is none.
 */
export function conditionsText(column: string): string {
  return `nullif((${column})::text, '${JSON.stringify(NO_CONDITIONS)}')`;
}
