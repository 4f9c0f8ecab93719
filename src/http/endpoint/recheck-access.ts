// Repeated access checks of open event streams, which may outlive the session, or the right to see the
// events, of the request that opened them. All streams are checked together, every ten seconds and when this
// process has ended a session or a right; streams of one viewer on one app share a check.

import type { Access, Visitor } from '../../access/access.ts';
import type { Accounts } from '../../access/accounts.ts';
import type { LiveEndReason } from '../../contract/console-fleet.ts';
import { isFailure } from '../../contract/failure.ts';
import { ConcurrencyLimit } from '../../flow/concurrency-limit.ts';
import { SharedCall } from '../../flow/shared-call.ts';
import type { EventSource } from '../transport/event-stream.ts';

/** Events of a stream whose last event, `end`, says why it ends. */
type Ending<Reason> = { readonly end: { readonly reason: Reason } };

type Watch<Reason> = {
  /** Identifies the viewer and the app: streams with the same name are checked once. */
  readonly name: string;
  /** Returns why the viewer has lost access; undefined while it has access. Rejects if that is unknown. */
  readonly findObstacle: () => Promise<Reason | undefined>;
};

type OpenStream<Reason> = Watch<Reason> & { readonly end: (reason: Reason) => void };

const RECHECK_MS = 10_000;
/** Maximum number of checks at a time: each takes one of the ledger's connections, which requests need. */
const CHECKS_RUNNING_MAX = 2;

/** Ends event streams whose viewers have lost access. `Reason` is the reason in their last event. */
export class RecheckAccess<Reason extends string> {
  private readonly streams = new Set<OpenStream<Reason>>();
  private readonly checking = new SharedCall(() => this.checkAll());
  private timer: NodeJS.Timeout | undefined;

  /** Wraps a source so that its stream ends, with an event `end`, once the viewer has lost access. */
  watching<Events extends Ending<Reason>>(
    source: EventSource<Events>,
    watch: Watch<Reason>,
  ): EventSource<Events> {
    return (sink) => {
      let isOver = false;
      const stream = {
        ...watch,
        end: (reason: Reason) => sink.end('end', { reason } as Events['end']),
      };
      const stop = source({
        send: (event, data) => sink.send(event, data),
        end: (event, data) => {
          isOver = true;
          sink.end(event, data);
        },
      });
      if (!isOver) this.add(stream);
      return () => {
        this.remove(stream);
        stop();
      };
    };
  }

  /** Begins a check of all streams; during a check, begins another one after it. */
  now(): void {
    if (this.streams.size > 0) void this.checking.ask();
  }

  private add(stream: OpenStream<Reason>): void {
    this.streams.add(stream);
    this.timer ??= setInterval(() => this.now(), RECHECK_MS);
  }

  private remove(stream: OpenStream<Reason>): void {
    this.streams.delete(stream);
    if (this.streams.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private async checkAll(): Promise<void> {
    const byName = new Map<string, OpenStream<Reason>[]>();
    for (const stream of this.streams) {
      byName.set(stream.name, [...(byName.get(stream.name) ?? []), stream]);
    }
    const gate = new ConcurrencyLimit(CHECKS_RUNNING_MAX, byName.size);
    let isAway = false;
    const check = async (streams: readonly OpenStream<Reason>[]): Promise<void> => {
      if (isAway) return;
      try {
        const reason = await streams[0]?.findObstacle();
        if (reason !== undefined) for (const each of streams) each.end(reason);
      } catch {
        // The ledger is unavailable, for the other streams too: all stay open until a later check.
        isAway = true;
      }
    };
    await Promise.all([...byName.values()].map((each) => gate.pass(() => check(each))));
  }
}

/** Returns the watch of a visitor on an app: checks its session or token, and its right to see the app. */
export function watchOf(
  visitor: Visitor,
  appId: string,
  { accounts, access }: { accounts: Pick<Accounts, 'isOpen'>; access: Pick<Access, 'toApp'> },
): Watch<LiveEndReason> {
  const { session, adminToken } = visitor;
  return {
    name: `${session?.tokenHash ?? adminToken?.hash}/${appId}`,
    async findObstacle() {
      if (adminToken?.isAccepted() === false) return 'signed-out';
      if (session !== undefined && !(await accounts.isOpen(session))) return 'signed-out';
      const right = await access.toApp(visitor, appId, 'viewer');
      return isFailure(right) ? 'no-access' : undefined;
    },
  };
}
