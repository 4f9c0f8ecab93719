// Counts by app and by one more label, whose values are all known. Callers on the hot path keep the cells of
// an app, so that counting is one addition, without a look-up.

/** One count, which its holder increments. */
export type Cell = { count: number };

/** Cells of one app by label. */
export type AppCells<Label extends string> = Readonly<Record<Label, Cell>>;

/** Maximum number of apps with cells of their own in a process: publishers create apps, hence a bound. */
const APPS_MAX = 100;
/** Name under which all further apps are counted together. */
const OTHERS = 'other';

export class AppCounts<Label extends string> {
  private readonly apps = new Map<string, AppCells<Label>>();

  constructor(private readonly labels: readonly Label[]) {}

  /** Returns the cells of an app by its ref: its own for the first hundred apps, else the shared ones. */
  of(app: string): AppCells<Label> {
    const name = this.apps.has(app) || this.apps.size < APPS_MAX ? app : OTHERS;
    const known = this.apps.get(name);
    if (known !== undefined) return known;
    const entries = this.labels.map((label) => [label, { count: 0 }] as const);
    const cells = Object.fromEntries(entries) as AppCells<Label>;
    this.apps.set(name, cells);
    return cells;
  }

  /** Lists the counts of every app, zeros included. */
  list(): readonly { readonly app: string; readonly label: Label; readonly count: number }[] {
    return [...this.apps].flatMap(([app, cells]) =>
      this.labels.map((label) => ({ app, label, count: cells[label].count })),
    );
  }

  /** Sums of all apps by label, zeros included. */
  get sums(): ReadonlyMap<Label, number> {
    const sums = new Map(this.labels.map((label) => [label, 0]));
    for (const { label, count } of this.list()) sums.set(label, (sums.get(label) ?? 0) + count);
    return sums;
  }
}
