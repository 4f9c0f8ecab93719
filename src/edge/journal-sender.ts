// Uploads to its upstream what an edge has in a journal, in its order. What the upstream has not confirmed
// is uploaded again, which does no harm.

import { Unavailable } from '../contract/unavailable.ts';
import { type BackOff, backOffMs } from '../flow/back-off.ts';
import { pause } from '../flow/pause.ts';
import type { CheckInJournal } from '../store/check-in-queue.ts';
import type { PlanLedger, ReportedFailure } from '../store/fleet-ledger.ts';
import { RefusedByUpstream, type UpstreamClient } from './upstream-client.ts';

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
type Uploaded = { readonly accepted: number; readonly dropped: number };

type JournalSenderDependencies = {
  readonly journal: Pick<CheckInJournal, 'read' | 'acknowledge' | 'appended'>;
  /**
   * Uploads batches in one call, as many as they are. Rejects with `Unavailable`, or `RefusedByUpstream`,
   * when they were not all taken.
   */
  readonly send: (batches: readonly Buffer[]) => Promise<Uploaded>;
  /** Bytes of one call, about: a batch that is larger goes alone. Default: 1,000 KiB. */
  readonly callBytesMax?: number;
  /** Told what became of a call. */
  readonly onUploaded: (taken: Uploaded) => void;
  /** Told of a batch that the upstream can never take, which is dropped. */
  readonly onRefused: (error: Error) => void;
  /** Told of each failure; what was not uploaded waits. */
  readonly onFault: (error: unknown) => void;
};

export class JournalSender {
  private readonly dependencies: JournalSenderDependencies;
  private readonly callBytesMax: number;
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;
  /**
   * Whether the latest call failed, so that its batches are tried one by one: the upstream may refuse one of
   * them, and a proxy before it bodies of this size.
   */
  private isOneByOne = false;

  constructor(dependencies: JournalSenderDependencies) {
    this.dependencies = dependencies;
    this.callBytesMax = dependencies.callBytesMax ?? CALL_BYTES_MAX;
  }

  /** Uploads until `stop`. */
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
        const bytes = await this.upload();
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

  /** Uploads the oldest batches; returns how many bytes they were. */
  private async upload(): Promise<number> {
    const { journal, send, onUploaded, onRefused } = this.dependencies;
    const read = await journal.read(this.isOneByOne ? 1 : this.callBytesMax);
    const bytes = read.reduce((sum, { length }) => sum + length, 0);
    if (bytes === 0) return 0;
    try {
      onUploaded(await send(read));
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

// Call by which an edge uploads what its devices have said.

/** Longest time of a call: an upstream whose queue is in its process records before it answers. */
const CALL_MS_MAX = 15_000;

/** Returns the call that uploads batches to an endpoint, whose body is made of them by `join`. */
export function uploadCall(
  client: Pick<UpstreamClient, 'call'>,
  path: 'check-ins' | 'failures',
  join: (batches: readonly Buffer[]) => Buffer | object,
): JournalSenderDependencies['send'] {
  return async (batches) => {
    const call = { method: 'POST', path, body: join(batches), timeoutMs: CALL_MS_MAX } as const;
    const proven = await client.call('check-ins', call);
    if (proven === undefined) throw new Unavailable('upstream', new Error('it answers nothing'));
    return proven.answer;
  };
}

// Failures that devices report to an edge, on their way through its journal.

/**
 * Returns what takes failures into a journal: they are safe when it resolves. Rejects with `Unavailable` when
 * the journal is full, or the disk does not take them.
 */
export function journalFailures(
  journal: Pick<CheckInJournal, 'append'>,
): Pick<PlanLedger, 'recordFailures'> {
  return {
    async recordFailures(failures: readonly ReportedFailure[]) {
      if ((await journal.append(Buffer.from(JSON.stringify(failures)))) === 'accepted') return;
      throw new Unavailable('ledger', new Error('the journal of failures is full'));
    },
  };
}

/** Returns the body that uploads batches of the journal. */
export function joinFailures(batches: readonly Buffer[]): object {
  return { failures: batches.flatMap((each) => JSON.parse(each.toString('utf8')) as unknown[]) };
}

// Estimate of how far the check-ins of an edge are on record at its upstream. The upstream confirms that it
// has taken a check-in over; it records it within seconds, and nobody tells the edge when.

/** Time in which an upstream records what it has taken over, and the edge hears of it; mostly less. */
const RECORDING_MS = 4000;
/** Longest time from a check to its place in the journal, while that takes what it is given. */
const BUFFERED_MS = 300;
const TICK_MS = 500;
/** More marks than ticks in the time of a recording, should timers come late or too often. */
const MARKS_MAX = 64;

/** Moment, and the time before which all check-ins had been uploaded by then. */
type Mark = { readonly at: number; readonly uploadedBefore: number };

export class RecordedMark {
  private readonly journal: Pick<CheckInJournal, 'ageMs'>;
  private readonly now: () => number;
  private readonly marks: Mark[] = [];
  private timer: NodeJS.Timeout | undefined;

  /** `now` returns milliseconds that never go back. */
  constructor(journal: Pick<CheckInJournal, 'ageMs'>, now: () => number = () => performance.now()) {
    this.journal = journal;
    this.now = now;
  }

  /** Follows the journal until `stop`. */
  start(): void {
    this.timer ??= setInterval(() => this.tick(), TICK_MS);
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** Takes note of how far the journal is uploaded now. */
  tick(): void {
    const at = this.now();
    this.marks.push({ at, uploadedBefore: at - this.journal.ageMs - BUFFERED_MS });
    // The newest mark that is old enough stays in front.
    while (this.marks.length > MARKS_MAX || this.isOldEnough(this.marks[1])) this.marks.shift();
  }

  /** Time of the clock before which the check-ins of this edge are on record, as far as it can know. */
  get before(): number {
    const [first] = this.marks;
    if (first === undefined || !this.isOldEnough(first)) return Number.NEGATIVE_INFINITY;
    return first.uploadedBefore;
  }

  private isOldEnough(mark: Mark | undefined): boolean {
    return mark !== undefined && mark.at <= this.now() - RECORDING_MS;
  }
}
