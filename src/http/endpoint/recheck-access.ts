// Repeated access check of open event streams, which outlive the requests that began them and may therefore
// outlive a session, or the right to see the events. All streams are checked together, every ten seconds and
// when this process has ended a session or a right; streams of one viewer on one app share a check.

import type { Access, Visitor } from '../../access/access.ts';
import type { Accounts } from '../../access/accounts.ts';
import type { LiveEndReason } from '../../contract/console-fleet.ts';
import { isFailure } from '../../contract/failure.ts';
import { ConcurrencyLimit } from '../../flow/concurrency-limit.ts';
import { SharedCall } from '../../flow/shared-call.ts';
import type { EventSource } from '../transport/event-stream.ts';

/** Events of a stream that can be ended: the last one says why. */
type Ending<Reason> = { readonly end: { readonly reason: Reason } };

type Watch<Reason> = {
  /** Names the viewer and what is watched: streams with the same name are checked once. */
  readonly name: string;
  /** Says why the viewer may watch no longer; undefined while it may. Rejects when that cannot be told. */
  readonly findObstacle: () => Promise<Reason | undefined>;
};

type OpenStream<Reason> = Watch<Reason> & { readonly end: (reason: Reason) => void };

const RECHECK_MS = 10_000;
/** Maximum number of checks at a time: far below the ledger's connections, which requests need. */
const CHECKS_RUNNING_MAX = 2;

/** Ends event streams whose viewers have lost their access. `Reason` is what their last event says. */
export class RecheckAccess<Reason extends string> {
  private readonly streams = new Set<OpenStream<Reason>>();
  private readonly checking = new SharedCall(() => this.checkAll());
  private timer: NodeJS.Timeout | undefined;

  /** Wraps a source so that its events end, with an event `end`, once there is an obstacle. */
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

  /** Checks all streams at once, or again after the check that is running. */
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
        // The ledger is away and would be asked in vain for the others: all go on until a later check.
        isAway = true;
      }
    };
    await Promise.all([...byName.values()].map((each) => gate.pass(() => check(each))));
  }
}

/** Returns the watch of a visitor on an app: its session or token, and its right to see the app, may end. */
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
