// What a node tells balancers and operators of itself: whether it can decide, which of its stores are lost,
// and for how long nothing has confirmed that what it serves is still what the record has.

import type { StoreOutage } from '../observe/store-health.ts';
import type { Readiness } from './readiness.ts';

/** Health of one store, as the calls of this process show it. */
type ObservedStore = {
  readonly store: StoreOutage['store'];
  readonly outage: StoreOutage | undefined;
  readonly silentMs: number;
};

/** Store that a node does without, since when (RFC 3339), and what that means. */
type Degradation = {
  readonly store: StoreOutage['store'];
  readonly since: string;
  readonly message: string;
};

/**
 * Returns why a store is refused although it answers, because it is of another record; undefined when it is
 * not.
 */
export type RefusalOf = (store: StoreOutage['store']) => string | undefined;

/** Answer to the question whether a node is ready. `obstacle` says why it is not. */
export type NodeState = {
  readonly obstacle: string | undefined;
  readonly degraded: readonly Degradation[];
};

/** The reasons of a node's own stores name their addresses, and are for the log alone. */
const MESSAGES: Readonly<Record<StoreOutage['store'], (reason: string) => string>> = {
  ledger: () => 'PostgreSQL does not answer: known channels are served, nothing can be changed',
  upstream: (reason) =>
    `the upstream does not answer, known channels are served as they were last: ${reason}`,
  engine: () => 'Redis does not answer: changes arrive by poll, limits count per process',
};

export class NodeHealth {
  private readonly readiness: Pick<Readiness, 'obstacle'>;
  private readonly stores: readonly ObservedStore[];
  private readonly unconfirmedMsMax: number | undefined;
  private readonly refusalOf: RefusalOf;

  /**
   * `unconfirmedMsMax` is the time without a store after which the node is not ready; undefined for no limit.
   */
  constructor(
    readiness: Pick<Readiness, 'obstacle'>,
    stores: readonly ObservedStore[],
    unconfirmedMsMax: number | undefined,
    refusalOf: RefusalOf = () => undefined,
  ) {
    this.refusalOf = refusalOf;
    this.readiness = readiness;
    this.stores = stores;
    this.unconfirmedMsMax = unconfirmedMsMax;
  }

  /**
   * Milliseconds since a store last answered. Any store confirms what is served: the ledger is polled for
   * changes, and the engine announces them.
   */
  get unconfirmedMs(): number {
    return Math.min(...this.stores.map(({ silentMs }) => silentMs));
  }

  /** Returns whether the node is ready, and what it does without. Never rejects. */
  async state(): Promise<NodeState> {
    const degraded = this.stores.flatMap(({ outage }) => {
      if (outage === undefined) return [];
      const since = new Date(outage.since).toISOString();
      const message = this.refusalOf(outage.store) ?? MESSAGES[outage.store](outage.reason);
      return [{ store: outage.store, since, message }];
    });
    // An edge has nothing else: what it serves is not what its service has.
    const refusal = this.refusalOf('upstream');
    const obstacle = (await this.readiness.obstacle()) ?? refusal ?? this.unconfirmed();
    return { obstacle, degraded };
  }

  private unconfirmed(): string | undefined {
    const { unconfirmedMs, unconfirmedMsMax } = this;
    if (unconfirmedMsMax === undefined || unconfirmedMs <= unconfirmedMsMax) return undefined;
    const isEdge = this.stores.some(({ store }) => store === 'upstream');
    const silent = isEdge ? 'the upstream has not' : 'no store has';
    return `${silent} answered for ${Math.round(unconfirmedMs / 1000)} s`;
  }
}
