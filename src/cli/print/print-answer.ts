// Text of a service's answer for the terminal: values, lines and tables.

import { showSteering } from '../../contract/text.ts';

/**
 * Returns a value as text on one line. Values such as device ids and labels come from strangers, so
 * characters that a terminal would obey, or that change the direction of text, are escaped. JSON remains the
 * same document.
 */
export function printableText(value: unknown): string {
  return showSteering((typeof value === 'string' ? value : JSON.stringify(value)) ?? '');
}

/** Returns one `name: value` line for each field. */
export function printAnswer(answer: unknown): string {
  if (!isRecord(answer)) return valueText(answer);
  return Object.entries(answer)
    .map(([name, value]) => `${printableText(name)}: ${valueText(value)}`)
    .join('\n');
}

/**
 * Returns a value on one line for people: `-` for nothing, a list separated by commas, a record as its
 * fields. Nested lists and records are in parentheses.
 */
export function valueText(value: unknown): string {
  return printableText(plain(value));
}

function plain(value: unknown): string {
  if (Array.isArray(value)) return value.map(nested).join(', ') || '-';
  if (!isRecord(value)) return String(value ?? '') || '-';
  const fields = Object.entries(value).map(([name, each]) => `${name}: ${nested(each)}`);
  return fields.join(', ') || '-';
}

function nested(value: unknown): string {
  const isWhole = typeof value !== 'object' || value === null || Object.keys(value).length === 0;
  return isWhole ? plain(value) : `(${plain(value)})`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Column of a table; `paint` returns the colour of a row's value, which only terminals show. */
export type Column<Row> = {
  readonly label: string;
  readonly value: (row: Row) => Cell;
  readonly paint?: (row: Row) => Colour | undefined;
  /** Maximum length of a value, beyond which it is cut; `--json` has all of it. */
  readonly lengthMax?: number;
};

type Cell = string | number | null | undefined;

/** Returns columns of fields that are labelled with the fields' names. */
export function fieldColumns<Name extends string>(
  ...names: readonly Name[]
): readonly Column<Readonly<Record<Name, Cell>>>[] {
  return names.map((label) => ({ label, value: (row) => row[label] }));
}

export type Colour = keyof typeof CODES;

const CODES = { green: 32, yellow: 33, red: 31 } as const;
const GAP = '  ';

/**
 * Returns rows below the labels of the columns, each column as wide as its widest value; `nothing` if there
 * is no row.
 */
export function printTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  nothing: string,
): string {
  if (rows.length === 0) return nothing;
  const isColoured = takesColours(process.stdout);
  const texts = rows.map((row) => columns.map((column) => cellOf(column, row)));
  const widths = columns.map(({ label }, place) =>
    Math.max(label.length, ...texts.map((cells) => cells[place]?.length ?? 0)),
  );
  const lineOf = (cells: readonly string[], paint: (place: number) => Colour | undefined) =>
    cells
      .map((cell, place) => {
        const padding = ' '.repeat((widths[place] ?? 0) - cell.length);
        return painted(cell, isColoured ? paint(place) : undefined) + padding;
      })
      .join(GAP)
      .trimEnd();
  const head = columns.map(({ label }) => label.toUpperCase());
  return [
    lineOf(head, () => undefined),
    ...rows.map((row, index) =>
      lineOf(texts[index] ?? [], (place) => columns[place]?.paint?.(row)),
    ),
  ].join('\n');
}

function cellOf<Row>({ value, lengthMax }: Column<Row>, row: Row): string {
  const text = printableText(value(row) ?? '-');
  return lengthMax === undefined || text.length <= lengthMax
    ? text
    : `${text.slice(0, lengthMax - 1).trimEnd()}…`;
}

/** Whether a stream is a terminal whose user accepts colours (https://no-color.org). */
function takesColours(stream: { readonly isTTY?: boolean }): boolean {
  // biome-ignore lint/style/noProcessEnv: a convention of terminals, and no setting of the service.
  return stream.isTTY === true && !process.env.NO_COLOR;
}

function painted(text: string, colour: Colour | undefined): string {
  return colour === undefined ? text : `\u001b[${CODES[colour]}m${text}\u001b[0m`;
}
