/** Counter with one label. Incrementing costs one look-up and one addition: cheap on every request. */
export class LabelledCount<Label extends string = string> {
  private readonly cells = new Map<Label, { count: number }>();

  add(label: Label, amount = 1): void {
    const known = this.cells.get(label);
    if (known === undefined) this.cells.set(label, { count: amount });
    else known.count += amount;
  }

  /** Counts by label, for labels with at least one addition. */
  get counts(): ReadonlyMap<Label, number> {
    return new Map([...this.cells].map(([label, { count }]) => [label, count]));
  }
}
