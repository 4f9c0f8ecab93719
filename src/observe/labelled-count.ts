// Counter with one label that is cheap enough to increment on every request.

/** Counts by one label. Incrementing costs one addition to an array element. */
export class LabelledCount<Label extends string = string> {
  private readonly cells = new Map<Label, { count: number }>();

  add(label: Label, amount = 1): void {
    const known = this.cells.get(label);
    if (known === undefined) this.cells.set(label, { count: amount });
    else known.count += amount;
  }

  /** Counts by label, for the labels that were ever added to. */
  get counts(): ReadonlyMap<Label, number> {
    return new Map([...this.cells].map(([label, { count }]) => [label, count]));
  }
}
