// Report of a benchmark, and its output as tables.

export type Row = Readonly<Record<string, string | number>>;

type Table = { readonly title?: string; readonly rows: readonly Row[] };

export type Report = {
  readonly tables: readonly Table[];
  /** Lines on these figures in particular. */
  readonly remarks?: readonly string[];
  /** Content of the JSON file; the first table's rows under the benchmark's name when absent. */
  readonly json?: Readonly<Record<string, unknown>>;
  /** Reason why the run does not count, such as errors among the answers. */
  readonly failure?: string;
};

/** Prints rows as aligned columns; numbers are grouped and right-aligned. */
export function printTable(rows: readonly Row[]): void {
  const names = Object.keys(rows[0] ?? {});
  const cells = [names, ...rows.map((row) => names.map((name) => format(row[name])))];
  const widths = names.map((_, column) =>
    Math.max(...cells.map((line) => line[column]?.length ?? 0)),
  );
  for (const line of cells) {
    const padded = line.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
    console.log(`  ${padded.join('  ')}`);
  }
}

function format(value: string | number | undefined): string {
  if (typeof value !== 'number') return value ?? '';
  if (Number.isNaN(value)) return '-';
  return Number.isInteger(value) ? value.toLocaleString('en-US') : value.toFixed(2);
}
