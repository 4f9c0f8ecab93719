// Tables as CSV, with every cell quoted.

/** Beginnings of a text that a spreadsheet would evaluate. */
const FORMULA = /^[=+\-@\t\r]/;

/** Returns rows as CSV; null is an empty cell. */
export function csvText(rows: readonly (readonly (string | null)[])[]): string {
  return rows.map((row) => `${row.map((text) => cell(text ?? '')).join(',')}\r\n`).join('');
}

/** Quotes a cell. An apostrophe before a formula makes a spreadsheet show it as text. */
function cell(text: string): string {
  const shown = FORMULA.test(text) ? `'${text}` : text;
  return `"${shown.replaceAll('"', '""')}"`;
}
