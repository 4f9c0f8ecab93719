// Uploads the journal of an edge to its upstream, in order. Unconfirmed batches are uploaded again, which
// does no harm.

import { Unavailable } from '../contract/store-fault.ts';
import { type BackOff, backOffMs, pause } from '../flow/pause.ts';
import { periodic } from '../flow/periodic.ts';
import { demandWithin } from '../flow/within-time.ts';
import type { CheckInJournal } from '../store/check-in-queue.ts';
import type { ReportedFailure } from '../store/fleet-ledger.ts';
import type { Ledger } from '../store/ledger.ts';
import { RefusedByUpstream, type UpstreamClient } from './upstream-client.ts';

/** Approximate bytes of one call: some 15,000 check-ins. Proxies accept up to 1 MiB by default. */
const CALL_BYTES_MAX = 1000 * 1024;
const WAIT_MS = 500;
/**
 * Milliseconds between two calls, unless half a call or more was sent: a call costs as much as many checks,
 * whatever its size.
 */
const REST_MS = 500;
const BACK_OFF: BackOff = { minMs: 100, maxMs: 1000 };
/** Maximum time of a call: an upstream whose queue is in its process records before it answers. */
const CALL_MS_MAX = 15_000;
/** Maximum time of an upload: more than its call may take, so that the next one begins if the call hangs. */
const SEND_MS_MAX = CALL_MS_MAX + 1000;
/** Statuses with which the upstream permanently refuses a batch. */
const NEVER: ReadonlySet<number> = new Set([400, 413]);

/** Numbers of records that the upstream accepted and dropped. */
type Uploaded = { readonly accepted: number; readonly dropped: number };

type JournalSenderDependencies = {
  readonly journal: Pick<CheckInJournal, 'read' | 'acknowledge' | 'appended'>;
  /**
   * Uploads the batches in one call. Rejects with `Unavailable` or `RefusedByUpstream` unless all are
   * accepted.
   */
  readonly send: (batches: readonly Buffer[]) => Promise<Uploaded>;
  /** Approximate bytes of one call: a larger batch goes alone. Default: 1,000 KiB. */
  readonly callBytesMax?: number;
  /** Called with the result of a call. */
  readonly onUploaded: (taken: Uploaded) => void;
  /** Called for a batch that the upstream can never accept, which is dropped. */
  readonly onRefused: (error: Error) => void;
  /** Called for each failure; batches that were not uploaded wait. */
  readonly onFault: (error: unknown) => void;
};

export class JournalSender {
  private readonly callBytesMax: number;
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;
  /**
   * Whether the latest call failed. If so, its batches are tried one by one, because the upstream may refuse
   * one of them, or a proxy the size of the body.
   */
  private isOneByOne = false;

  constructor(private readonly dependencies: JournalSenderDependencies) {
    this.callBytesMax = dependencies.callBytesMax ?? CALL_BYTES_MAX;
  }

  /** Uploads until `stop`. */
  start(): void {
    this.running ??= this.run();
  }

  /** Stops soon; closing the client ends the call in flight. */
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

  /** Uploads the oldest batches; returns their number of bytes. */
  private async upload(): Promise<number> {
    const { journal, send, onUploaded, onRefused } = this.dependencies;
    const read = await journal.read(this.isOneByOne ? 1 : this.callBytesMax);
    const bytes = read.reduce((sum, { length }) => sum + length, 0);
    if (bytes === 0) return 0;
    try {
      onUploaded(await demandWithin(send(read), SEND_MS_MAX, hung));
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

function hung(ms: number): Unavailable {
  return new Unavailable('upstream', new Error(`no upload ended within ${ms / 1000} s`));
}

/** Returns the call that uploads batches to an endpoint; `join` makes the body. */
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

/**
 * Returns the part of a ledger that writes failures, which devices report to an edge, into its journal; they
 * are on disk once the call resolves. Rejects with `Unavailable` if the journal is full, or the disk fails.
 */
export function journalFailures(
  journal: Pick<CheckInJournal, 'append'>,
): Pick<Ledger, 'recordFailures'> {
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

// Tells the time up to which the upstream has recorded an edge's check-ins, so that the edge has what came of
// their labels. The upstream confirms that it accepted a check-in. It records it later, and tells with the
// changes of labels how far it is.

/**
 * Least time from an upload until the edge takes it for recorded: the address of the upstream may lead to
 * another region, which does not know how far the one is that has accepted it.
 */
const RECORDING_MS = 4000;
/** Maximum time from a check to the journal, while the journal accepts check-ins. */
const BUFFERED_MS = 300;
const TICK_MS = 500;
/** Half a minute: if the upstream is further behind, later marks tell when it has caught up. */
const MARKS_MAX = 64;

/** `at`: a moment. `uploadedBefore`: all check-ins from before this time were uploaded at that moment. */
type Mark = { readonly at: number; readonly uploadedBefore: number };

export class RecordedMark {
  private readonly marks: Mark[] = [];
  private followedUntil = Number.NEGATIVE_INFINITY;
  private endedBefore = Number.NEGATIVE_INFINITY;
  private readonly ticks = periodic(async () => this.tick(), { everyMs: TICK_MS });

  /** Follows the journal until `stop`. */
  readonly start = this.ticks.start;
  readonly stop = this.ticks.stop;

  /** `now` returns milliseconds that never go back. */
  constructor(
    private readonly journal: Pick<CheckInJournal, 'ageMs'>,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Records up to which time the journal is uploaded now. */
  tick(): void {
    const at = this.now();
    this.marks.push({ at, uploadedBefore: at - this.journal.ageMs - BUFFERED_MS });
    if (this.marks.length > MARKS_MAX) this.marks.shift();
  }

  /** Notes that the edge has all changes of labels by what it had uploaded until then, by its clock. */
  follow(until: number): void {
    this.followedUntil = Math.max(this.followedUntil, until);
  }

  /** Time before which this edge's check-ins are recorded, and the edge has what came of them. */
  get before(): number {
    const recordedAt = Math.min(this.followedUntil, this.now() - RECORDING_MS);
    for (
      let [mark] = this.marks;
      mark !== undefined && mark.at <= recordedAt;
      [mark] = this.marks
    ) {
      this.endedBefore = mark.uploadedBefore;
      this.marks.shift();
    }
    return this.endedBefore;
  }
}
