// What benchmarks have in common: how they are described, what they report, and a table for people.

export type Row = Readonly<Record<string, string | number>>;

export type Table = { readonly title?: string; readonly rows: readonly Row[] };

export type Report = {
  readonly tables: readonly Table[];
  /** What to know about these figures in particular. */
  readonly remarks?: readonly string[];
  /** For machines; the first table's rows under the benchmark's name when absent. */
  readonly json?: Readonly<Record<string, unknown>>;
  /** Why the run does not count, such as errors among the answers. */
  readonly failure?: string;
};

export type RunOptions = {
  /** For a moment only, to see that it works. */
  readonly isSmoke: boolean;
  /** Only the scenarios whose name begins so, where there are several. */
  readonly scenario: string;
};

export type Benchmark = {
  readonly name: string;
  readonly title: string;
  /** How to read the table, in a few lines. */
  readonly explanation: readonly string[];
  run(options: RunOptions): Promise<readonly Row[] | Report>;
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

/** The middle of the values; rounds alternate, so that what disturbs the machine disturbs all alike. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}

function format(value: string | number | undefined): string {
  if (typeof value !== 'number') return value ?? '';
  if (Number.isNaN(value)) return '-';
  return Number.isInteger(value) ? value.toLocaleString('en-US') : value.toFixed(2);
}
