// Report of a benchmark: tables of figures, remarks on them, and the way both are printed.

export type Row = Readonly<Record<string, string | number>>;

export type Report = {
  readonly tables: readonly { readonly title?: string; readonly rows: readonly Row[] }[];
  /** Lines on how to read the tables, instead of those of the benchmark. */
  readonly reading?: readonly string[];
  readonly remarks?: readonly string[];
  /** Content of the JSON file; the first table's rows under the benchmark's name when absent. */
  readonly json?: Readonly<Record<string, unknown>>;
  readonly failures?: readonly string[];
};

/** Reason why a part of a run does not count, when errors were counted, by kind. */
export function failuresOf(name: string, errors: Readonly<Record<string, number>>): string[] {
  return Object.keys(errors).length === 0 ? [] : [`${name}: ${JSON.stringify(errors)}`];
}

/** Percentiles of latencies in microseconds, as columns of a table. */
export function percentileColumns(us: (share: number) => number, ...percents: number[]): Row {
  const rounded = (percent: number) => Math.round(us(Math.round(percent * 10) / 1000));
  return Object.fromEntries(percents.map((percent) => [`p${percent} us`, rounded(percent)]));
}

export function printReport(report: Report, usualReading: readonly string[]): void {
  const { tables, reading = usualReading, remarks = [] } = report;
  for (const { title, rows } of tables) {
    if (rows.length === 0) continue;
    if (title !== undefined) console.log(` ${title}`);
    printTable(rows);
  }
  for (const line of [...reading, ...remarks]) console.log(line);
}

/** Prints rows as aligned columns; numbers are grouped and right-aligned. */
function printTable(rows: readonly Row[]): void {
  const names = Object.keys(rows[0] ?? {});
  const cells = [names, ...rows.map((row) => names.map((name) => cellOf(row[name])))];
  const widths = names.map((_, column) =>
    Math.max(...cells.map((line) => line[column]?.length ?? 0)),
  );
  for (const line of cells) {
    const padded = line.map((cell, column) => {
      const width = widths[column] ?? 0;
      return column === 0 ? cell.padEnd(width) : cell.padStart(width);
    });
    console.log(`  ${padded.join('  ')}`);
  }
}

function cellOf(value: string | number | undefined): string {
  if (typeof value !== 'number') return value ?? '';
  if (Number.isNaN(value)) return '-';
  return Number.isInteger(value) ? value.toLocaleString('en-US') : value.toFixed(2);
}
