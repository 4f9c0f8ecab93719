// What was asked for lately, by text, within a bound. Reading writes nothing, unlike a list in order of use:
// two generations, of which the older is thrown away whole when the younger is full. What is read from the
// older moves to the younger, so whatever is asked for now and then stays.

export class RecentMap<Value> {
  private readonly generationMax: number;
  private young = new Map<string, Value>();
  private old = new Map<string, Value>();

  /** Holds at most `sizeMax` values, and at least half as many. */
  constructor(sizeMax: number) {
    this.generationMax = Math.max(1, Math.floor(sizeMax / 2));
  }

  get(key: string): Value | undefined {
    const value = this.young.get(key);
    return value === undefined ? this.revive(key) : value;
  }

  set(key: string, value: Value): void {
    if (this.young.size >= this.generationMax) {
      this.old = this.young;
      this.young = new Map();
    }
    this.young.set(key, value);
  }

  private revive(key: string): Value | undefined {
    const value = this.old.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }
}
