// Counters with labels whose values are all known.

/**
 * Counts by label. Every label is exported from the start, with 0, because Prometheus sees an increase only
 * in a series that it had before. Incrementing costs one look-up and one addition: cheap on every request.
 */
export class LabelledCount<Label extends string = string> {
  private readonly cells: ReadonlyMap<Label, { count: number }>;

  constructor(labels: readonly Label[]) {
    this.cells = new Map(labels.map((label) => [label, { count: 0 }]));
  }

  add(label: Label, amount = 1): void {
    const cell = this.cells.get(label);
    if (cell === undefined) throw new Error(`${label} is no label of this counter`);
    cell.count += amount;
  }

  /** Counts by label, zeros included. */
  get counts(): ReadonlyMap<string, number> {
    return new Map([...this.cells].map(([label, { count }]) => [label, count]));
  }
}

/**
 * Counts by two labels, of which clients send the values: a text that is none of the values of its label
 * counts as the last one.
 */
export class PairedCount {
  private readonly cells: readonly number[][];

  constructor(
    private readonly firsts: readonly string[],
    private readonly seconds: readonly string[],
  ) {
    this.cells = firsts.map(() => seconds.map(() => 0));
  }

  add(first: string, second: string): void {
    const row = this.cells.at(this.firsts.indexOf(first)) ?? [];
    const column = this.seconds.indexOf(second);
    const place = column === -1 ? this.seconds.length - 1 : column;
    row[place] = (row[place] ?? 0) + 1;
  }

  /** Counts by both labels, zeros included. */
  list(): readonly { readonly values: readonly [string, string]; readonly count: number }[] {
    return this.firsts.flatMap((first, row) =>
      this.seconds.map((second, column) => {
        return { values: [first, second] as const, count: this.cells[row]?.[column] ?? 0 };
      }),
    );
  }
}
