// A count that costs next to nothing to add to.

/** Counts by one label, cheap enough for every request. */
export class Tally {
  private readonly cells = new Map<string, { count: number }>();

  add(label: string, amount = 1): void {
    const known = this.cells.get(label);
    if (known === undefined) this.cells.set(label, { count: amount });
    else known.count += amount;
  }

  /** By label, of those that were ever added to. */
  get counts(): ReadonlyMap<string, number> {
    return new Map([...this.cells].map(([label, { count }]) => [label, count]));
  }
}
