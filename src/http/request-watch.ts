// Watching of requests, for the access log and for traces: what a watcher sees of a request, and what it is
// told of its end. Which routes are watched is chosen when they are built, so that those that are not cost
// nothing.

import type { RouteLabels, Surface } from '../observe/route-counts.ts';
import type { RequestNotes } from './request-notes.ts';

/** A request that is being watched. */
export type RequestWatch = {
  /** Runs what answers the request, when that may wait. */
  run<Value>(work: () => Promise<Value>): Promise<Value>;
  /** Takes note of the end, with the status of the answer, or 499 when the client had left. */
  end(status: number): void;
};

export type RequestWatcher = {
  /** Whether requests of a surface are watched. */
  watches(surface: Surface): boolean;
  /** Takes note of a request that begins. */
  begin(request: WatchedRequest): RequestWatch;
};

/** Request as its watchers see it. */
export type WatchedRequest = {
  readonly labels: RouteLabels;
  readonly method: string;
  /** Path as sent, without the query, which may have what is nobody's business. */
  readonly path: string;
  readonly remoteAddress: string;
  /** Returns a header by its lower-case name; '' when the request has none. */
  readonly header: (name: string) => string;
  readonly notes: RequestNotes;
};
