// Hands over to its upstream what an edge has in a journal, in its order. What the upstream has not confirmed
// is handed over again, which does no harm.

import { Unavailable } from '../contract/unavailable.ts';
import { type BackOff, backOffMs } from '../flow/back-off.ts';
import { pause } from '../flow/pause.ts';
import type { CheckInJournal } from '../store/check-in-journal.ts';
import { RefusedByUpstream } from './upstream-client.ts';

/** Bytes of one call, about: some fifteen thousand check-ins. Proxies take up to 1 MiB by default. */
const CALL_BYTES_MAX = 1000 * 1024;
const WAIT_MS = 500;
/**
 * Milliseconds between two calls, unless there is more than one takes: a call costs as much as many checks,
 * whatever it carries.
 */
const REST_MS = 500;
const BACK_OFF: BackOff = { minMs: 100, maxMs: 1000 };
/** Statuses by which the upstream says that it will never take what it was given. */
const NEVER: ReadonlySet<number> = new Set([400, 413]);

/** Number of things that the upstream has taken over, and of those that it has dropped. */
type HandedOver = { readonly accepted: number; readonly dropped: number };

export type HandOverDependencies = {
  readonly journal: Pick<CheckInJournal, 'read' | 'acknowledge' | 'appended'>;
  /**
   * Hands batches over in one call, as many as they are. Rejects with `Unavailable`, or `RefusedByUpstream`,
   * when they were not all taken.
   */
  readonly send: (batches: readonly Buffer[]) => Promise<HandedOver>;
  /** Bytes of one call, about: a batch that is larger goes alone. Default: 1,000 KiB. */
  readonly callBytesMax?: number;
  /** Told what became of a call. */
  readonly onHandedOver: (taken: HandedOver) => void;
  /** Told of a batch that the upstream can never take, which is dropped. */
  readonly onRefused: (error: Error) => void;
  /** Told of each failure; what was not handed over waits. */
  readonly onFault: (error: unknown) => void;
};

export class HandOver {
  private readonly dependencies: HandOverDependencies;
  private readonly callBytesMax: number;
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;
  /**
   * Whether the latest call failed, so that its batches are tried one by one: the upstream may refuse one of
   * them, and a proxy before it bodies of this size.
   */
  private isOneByOne = false;

  constructor(dependencies: HandOverDependencies) {
    this.dependencies = dependencies;
    this.callBytesMax = dependencies.callBytesMax ?? CALL_BYTES_MAX;
  }

  /** Hands over until `stop`. */
  start(): void {
    this.running ??= this.run();
  }

  /** Stops soon; the client ends the call in flight when it is closed. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    const { journal, onFault } = this.dependencies;
    const { signal } = this.stopping;
    for (let failures = 0; !signal.aborted; ) {
      try {
        const bytes = await this.handOver();
        if (bytes === 0) await journal.appended(WAIT_MS, signal);
        else if (bytes < this.callBytesMax / 2 && !this.isOneByOne) await pause(REST_MS, signal);
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        onFault(error);
        await pause(backOffMs(BACK_OFF, failures), signal);
      }
    }
  }

  /** Hands the oldest batches over; returns how many bytes they were. */
  private async handOver(): Promise<number> {
    const { journal, send, onHandedOver, onRefused } = this.dependencies;
    const read = await journal.read(this.isOneByOne ? 1 : this.callBytesMax);
    const bytes = read.reduce((sum, { length }) => sum + length, 0);
    if (bytes === 0) return 0;
    try {
      onHandedOver(await send(read));
      this.isOneByOne = false;
    } catch (error) {
      this.isOneByOne = true;
      if (!(error instanceof RefusedByUpstream)) throw error;
      if (!NEVER.has(error.status)) throw new Unavailable('upstream', error);
      if (read.length > 1) return bytes;
      onRefused(error);
    }
    await journal.acknowledge(read.length);
    return bytes;
  }
}
