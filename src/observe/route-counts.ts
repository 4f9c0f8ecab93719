// Counts requests by route and status. Counting costs a look-up by a small number and an addition.

/** Part of the service that a route belongs to, by its clients. */
export type Surface =
  | 'device'
  | 'feed'
  | 'management'
  | 'webhook'
  | 'edge'
  | 'console'
  | 'health'
  | 'other';

/** Labels of a route. All come from declarations, so there are few. */
export type RouteLabels = {
  readonly surface: Surface;
  readonly method: string;
  /** Path pattern, never a path. */
  readonly route: string;
};

export class RouteCounts {
  private readonly routes = new Map<string, RouteCount>();

  /** Returns the counts of a route, the same object for the same labels. */
  of(labels: RouteLabels): RouteCount {
    const key = `${labels.surface} ${labels.method} ${labels.route}`;
    const known = this.routes.get(key) ?? new RouteCount(labels);
    this.routes.set(key, known);
    return known;
  }

  /** Lists the counts by status: of every status that a route replied with, and of the watched ones. */
  list(): { readonly labels: RouteLabels & { readonly status: string }; readonly count: number }[] {
    return [...this.routes.values()].flatMap(({ labels: { surface, method, route }, counts }) =>
      [...counts].map(([status, count]) => ({
        labels: { surface, method, route, status: String(status) },
        count,
      })),
    );
  }
}

/** Statuses that alerts watch: their series begin at 0, so that the first reply is seen as an increase. */
const WATCHED_STATUSES = [500, 503];

export class RouteCount {
  readonly counts = new Map(WATCHED_STATUSES.map((status) => [status, 0]));

  constructor(readonly labels: RouteLabels) {}

  add(status: number): void {
    this.counts.set(status, (this.counts.get(status) ?? 0) + 1);
  }
}
