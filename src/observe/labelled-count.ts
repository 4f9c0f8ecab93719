// Counter with one label whose values are all known.

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
