// Poll that keeps the names of channels that this process knows at the ledger's list. Announcements tell new
// channels within milliseconds; the poll finds those whose announcement did not arrive, and confirms that
// names which are not in the list do not exist.

import type { Engine } from '../store/engine.ts';
import type { KnownChannels } from './known-channels.ts';

/**
 * Milliseconds between polls: well below the time for which a poll confirms the list, so that one slow poll
 * does not make unknown names unavailable.
 */
const POLL_INTERVAL_MS = 1500;

export class KnownChannelsPoll {
  private readonly known: KnownChannels;
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> = Promise.resolve();
  private isStopped = false;

  constructor(known: KnownChannels) {
    this.known = known;
  }

  /** Reads the first list and polls from then on, until `stop`. */
  start(engine: Pick<Engine, 'subscribe'>): void {
    engine.subscribe(
      // `Catalogs` hears announcements and passes on what they tell about names.
      () => undefined,
      () => {
        // The engine may have restarted empty, and announcements may have been missed.
        this.known.shareAgain();
        void this.poll();
      },
    );
    this.known.start();
    this.schedule();
  }

  /** Stops polling and waits for the poll in progress. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    await this.running;
  }

  private poll(): Promise<void> {
    this.running = this.known.refresh();
    return this.running;
  }

  private schedule(): void {
    if (this.isStopped) return;
    // Jitter, so that nodes started at the same time do not poll at the same time for ever.
    const delay = POLL_INTERVAL_MS * (0.8 + Math.random() * 0.2);
    this.timer = setTimeout(() => void this.poll().then(() => this.schedule()), delay);
  }
}
