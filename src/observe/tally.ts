// A count that costs next to nothing to add to.

/** Counts by one label, cheap enough for every request. */
export class Tally {
  readonly counts = new Map<string, number>();

  add(label: string, amount = 1): void {
    this.counts.set(label, (this.counts.get(label) ?? 0) + amount);
  }
}
