// Bound on the connections that clients have open. Without one they could use up the file descriptors of the
// process, and the stores could not be reached again once their connections broke.

import type { HttpResponse, TemplatedApp } from 'uWebSockets.js';
import type { LabelledCount } from '../observe/labelled-count.ts';
import type { RareLog } from '../observe/rare-log.ts';

export type ConnectionLimitDependencies = {
  /** Maximum number of open connections; undefined for no bound. */
  readonly connectionsMax: number | undefined;
  readonly connections: LabelledCount<'accepted' | 'refused'>;
  readonly log: RareLog;
};

/** Count of the connections that clients have open, and the bound on it. */
export class ConnectionLimit {
  private readonly dependencies: ConnectionLimitDependencies;
  private count = 0;

  constructor(dependencies: ConnectionLimitDependencies) {
    this.dependencies = dependencies;
  }

  /** Number of open connections. */
  get open(): number {
    return this.count;
  }

  /** Closes each connection of the app that would exceed the bound, before anything is read from it. */
  applyTo(app: TemplatedApp): void {
    const { connectionsMax = Number.POSITIVE_INFINITY, connections, log } = this.dependencies;
    // Called with 1 for a connection that opens and with -1 for one that closes, refused ones included.
    const note = (res: HttpResponse, change: number): void => {
      this.count += change;
      if (change < 0) return;
      if (this.count <= connectionsMax) {
        connections.add('accepted');
        return;
      }
      connections.add('refused');
      log.warn({ open: connectionsMax }, 'connection refused');
      res.close();
    };
    app.filter(note);
  }
}
