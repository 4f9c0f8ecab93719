// Follows the index of the upstream: each request waits there for the next change, for at most 2 s, so that a
// silently cut connection is noticed soon. Changes are announced like those of other nodes.

import type { EdgeIndexAnswer } from '../contract/edge.ts';
import { Unavailable } from '../contract/store-fault.ts';
import { type BackOff, backOffMs, pause } from '../flow/pause.ts';
import { demandWithin } from '../flow/within-time.ts';
import type { Announcement } from '../store/engine.ts';
import {
  type FollowedFile,
  type FollowedState,
  type IndexRefusal,
  isIndex,
  type KeptIndex,
} from './followed-state.ts';
import { RefusedAnswer, RefusedByUpstream, type UpstreamClient } from './upstream-client.ts';

/** Milliseconds that a request waits at the upstream. */
const WAIT_MS = 2000;
/** Maximum time of a request beyond its wait. */
const ANSWER_MS_MAX = 2000;
/** Maximum time of a request that does not wait, as after a failure: two must fit into 5 seconds. */
const UNWAITING_MS_MAX = 2500;
/** Milliseconds after contact with the upstream for which the known state counts as its present one. */
const FRESH_MS = 5000;
/** Maximum time for an upstream to examine the edge's index, if the upstream seems to be behind it. */
const AHEAD_MS_MAX = 5000;
/** Maximum time of a turn: more than its calls may take, so that following continues if one hangs. */
const TURN_MS_MAX = WAIT_MS + ANSWER_MS_MAX + AHEAD_MS_MAX + 1000;
/** Delays after failures: short, because a change must arrive within 2 seconds after the upstream returns. */
const BACK_OFF: BackOff = { minMs: 100, maxMs: 800 };
/**
 * Minimum time between two requests. A stopping upstream answers at once, and so do several processes that
 * know different first offers in turn.
 */
const QUIET_MS_MIN = 250;

export type FollowerDependencies = {
  readonly client: Pick<UpstreamClient, 'call' | 'refuse' | 'isProven' | 'reconnect' | 'restart'>;
  readonly state: FollowedState;
  readonly file: Pick<FollowedFile, 'read' | 'keep' | 'flush'>;
  /** Announces changes in the order in which they came. */
  readonly announce: (announcements: readonly Announcement[]) => void;
  /** Called after each failure with its reason, and with undefined once the upstream answers. */
  readonly onContact: (failure: unknown) => void;
  /** Called if the file on disk cannot be used. */
  readonly onDamaged: (error: unknown) => void;
};

export class Follower {
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;
  /** Monotonic time of the latest answer; undefined before the first. */
  private contactAt: number | undefined;
  /** Accepted index with its proof, to send to an upstream that is behind it. */
  private held: KeptIndex | undefined;
  private latestRefusal: IndexRefusal | undefined;
  private onFirst: (() => void) | undefined;
  /** Resolves with the first answer of the upstream. */
  readonly first = new Promise<void>((resolve) => {
    this.onFirst = resolve;
  });

  constructor(private readonly dependencies: FollowerDependencies) {}

  /** Whether the upstream confirmed the known state within the last 5 seconds. */
  get isFresh(): boolean {
    return this.contactAt !== undefined && performance.now() - this.contactAt < FRESH_MS;
  }

  /** Why the upstream's index has been refused for 5 seconds; undefined if it is not refused. */
  get refusal(): IndexRefusal | undefined {
    return this.isFresh ? undefined : this.latestRefusal;
  }

  /** Reads the index on disk, then follows until `stop`. */
  async start(): Promise<void> {
    await this.recall();
    this.running ??= this.run();
  }

  /** Stops soon; closing the client ends the request in flight. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
    await this.dependencies.file.flush();
  }

  private async recall(): Promise<void> {
    const { file, client, state, onDamaged } = this.dependencies;
    try {
      const kept = await file.read();
      if (kept === undefined) return;
      if (!client.isProven(kept.bytes, kept.proof)) {
        throw new Error('it has no signature of the right key');
      }
      const index = JSON.parse(kept.bytes.toString('utf8')) as Partial<EdgeIndexAnswer>;
      if (!isIndex(index)) throw new Error('it is no index');
      this.held = kept;
      state.adopt(index);
    } catch (error) {
      onDamaged(error);
    }
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    const { client } = this.dependencies;
    for (let failures = 0; !signal.aborted; ) {
      const beganAt = performance.now();
      try {
        const work = this.ask(this.contactAt !== undefined && failures === 0);
        await demandWithin(work, TURN_MS_MAX, hung);
        // Calls that began before may wait for a server that never received them.
        if (failures > 0) client.restart();
        failures = 0;
        this.latestRefusal = undefined;
        this.contactAt = performance.now();
        this.onFirst?.();
        this.dependencies.onContact(undefined);
        const tookMs = performance.now() - beganAt;
        if (tookMs < QUIET_MS_MIN) await pause(QUIET_MS_MIN - tookMs, signal);
      } catch (error) {
        if (!isFailedCall(error)) throw error;
        if (signal.aborted) return;
        failures += 1;
        this.latestRefusal = refusalIn(error);
        this.dependencies.onContact(error);
        client.reconnect();
        await pause(backOffMs(BACK_OFF, failures), signal);
      }
    }
  }

  /** Asks for an index other than the known one, and adopts it. `waits`: for a change, if there is none. */
  private async ask(waits: boolean): Promise<void> {
    const { client, state, file, announce } = this.dependencies;
    const path = `index?wait=${waits ? WAIT_MS : 0}`;
    const proven = await client.call('index', {
      method: 'GET',
      path,
      headers: state.tag === undefined ? {} : { 'if-none-match': `"${state.tag}"` },
      timeoutMs: waits ? WAIT_MS + ANSWER_MS_MAX : UNWAITING_MS_MAX,
    });
    if (proven === undefined) return;
    const { answer, bytes, proof } = proven;
    if (!isIndex(answer)) return client.refuse('malformed', { path }, 'its answer is no index');
    const refusal = state.refusalOf(answer);
    if (refusal === 'replayed') await this.showHeld();
    if (refusal !== undefined) return client.refuse(refusal, { path }, REFUSED[refusal]);
    // Before it is served: after a restart, nothing older is accepted.
    this.held = { bytes, proof };
    file.keep(this.held);
    announce(state.adopt(answer));
  }

  /**
   * Sends the held index, with its proof, to an upstream that seems to be behind it. If the upstream's ledger
   * is behind, the upstream raises its epoch, and its next index is newer.
   */
  private async showHeld(): Promise<void> {
    if (this.held === undefined) return;
    const { bytes, proof } = this.held;
    const body = { proof, index: bytes.toString('utf8') };
    const call = { method: 'POST', path: 'ahead', body, timeoutMs: AHEAD_MS_MAX } as const;
    try {
      await this.dependencies.client.call('ahead', call);
    } catch (error) {
      if (!isFailedCall(error)) throw error;
      // The upstream's index is refused in any case, and the held one is sent again with the next refusal.
      this.dependencies.onContact(error);
    }
  }
}

function hung(ms: number): Unavailable {
  return new Unavailable('upstream', new Error(`it was not followed for ${ms / 1000} s`));
}

function isFailedCall(error: unknown): boolean {
  return error instanceof Unavailable || error instanceof RefusedByUpstream;
}

const REFUSED: Readonly<Record<IndexRefusal, string>> = {
  foreign: 'its index is of another record',
  replayed: 'its index is older than the known one',
};

/** Returns why an index was refused, if the call failed for that. */
function refusalIn(error: unknown): IndexRefusal | undefined {
  const cause = error instanceof Unavailable ? error.cause : undefined;
  if (!(cause instanceof RefusedAnswer)) return undefined;
  const { refusal } = cause;
  return refusal === 'foreign' || refusal === 'replayed' ? refusal : undefined;
}
