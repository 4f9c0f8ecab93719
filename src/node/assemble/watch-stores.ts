// Watches the stores: every call shows whether the store answers, a probe calls a store that nobody calls,
// and a trial write shows whether it accepts writes, even if nobody writes.

import { LockedTooLong, Overloaded, Unavailable } from '../../contract/store-fault.ts';
import { periodic } from '../../flow/periodic.ts';
import { StoreHealth, type StoreName } from '../../observe/store-health.ts';
import type { Tracing } from '../../observe/tracing.ts';
import { openStores, type Stores, type StoresOptions } from './stores.ts';

/** Milliseconds between probes of a store that nobody calls. */
const PROBE_INTERVAL_MS = 1000;
/** Milliseconds between trial writes; a store that refuses writes gets one at each probe instead. */
const TRIAL_INTERVAL_MS = 5000;
/** Calls that wait for an event, so that their duration says nothing about the store. */
const WAITING: ReadonlySet<string> = new Set(['takeCheckIns']);

/** Interface that can be probed and closed: the ledger or the engine. */
type StorePort = {
  isReachable(): Promise<boolean>;
  /** Returns why the store is not reachable, if known. */
  lastFailure?(): unknown;
  /** Rejects when the store refuses writes; with `needsRoom`, also when it has no room for a small write. */
  tryWrite?(needsRoom: boolean): Promise<void>;
  close(): Promise<void>;
};

/** Options; `reasonOf` returns the reason of an outage from the error of a call. */
type WatchOptions = Pick<StoresOptions, 'metrics' | 'log' | 'tracing'> & {
  readonly reasonOf?: (error: unknown) => string;
};

/** Stores of a process, and the health of each that can fail. */
export type WatchedStores = Stores & { readonly healths: readonly StoreHealth[] };

/** Opens the stores of a process and watches them; rejects as `openStores` does. */
export async function watchStores(options: StoresOptions): Promise<WatchedStores> {
  return watchOpened(options, await openStores(options));
}

/** Watches the stores of a process. A memory engine cannot fail, so it only has its gauge. */
function watchOpened(options: StoresOptions, stores: Stores): WatchedStores {
  const { config, metrics } = options;
  const watchedLedger = watchStore('ledger', stores.ledger, options);
  if (config.redisUrl === undefined) {
    metrics.storeUp.set('engine', () => 1);
    metrics.storeFull.set('engine', () => 0);
    metrics.storeRefusingWrites.set('engine', () => 0);
    return { ...stores, ledger: watchedLedger.port, healths: [watchedLedger.health] };
  }
  const watchedEngine = watchStore('engine', stores.engine, options);
  return {
    ...stores,
    ledger: watchedLedger.port,
    engine: watchedEngine.port,
    healths: [watchedLedger.health, watchedEngine.health],
  };
}

/**
 * Returns a port that forwards every call and records how it ended, until it is closed. The gauge
 * `sluice_store_up` of the store is 1 while the store answers.
 */
export function watchStore<Port extends StorePort>(
  store: StoreName,
  port: Port,
  { metrics, log, tracing, reasonOf }: WatchOptions,
): { readonly port: Port; readonly health: StoreHealth } {
  const health = new StoreHealth(store, log, reasonOf);
  metrics.storeUp.set(store, () => (health.isLost ? 0 : 1));
  metrics.storeFull.set(store, () => (health.isFull ? 1 : 0));
  metrics.storeRefusingWrites.set(store, () => (health.refusesWrites ? 1 : 0));
  const probe = async (): Promise<void> => {
    // Half of the interval, because the turns may come a little earlier or later.
    if (health.silentMs < PROBE_INTERVAL_MS / 2) return;
    if (await port.isReachable()) health.succeeded();
    else health.failed(port.lastFailure?.() ?? new Error('timeout'));
  };
  const watches = [probe, trialOf(port, health)].map((watch) =>
    periodic(watch, { everyMs: PROBE_INTERVAL_MS }),
  );
  for (const watch of watches) watch.start();
  const stopWatching = () => {
    for (const watch of watches) void watch.stop();
  };
  const observe = (operation: string, seconds: number) => {
    if (!WAITING.has(operation)) metrics.storeSeconds.observe({ store, operation }, seconds);
  };
  const notes = { health, observe, onClose: stopWatching };
  return {
    port: noteCalls(port, tracing ? { ...notes, traced: tracedCalls(tracing, store) } : notes),
    health,
  };
}

/** Returns a function that tries a write if the last try was 5 s ago, or the store refuses writes. */
function trialOf(port: StorePort, health: StoreHealth): () => Promise<void> {
  let triedAt = performance.now();
  return async () => {
    const isDue = health.refusesWrites || performance.now() - triedAt >= TRIAL_INTERVAL_MS;
    if (port.tryWrite === undefined || health.isLost || !isDue) return;
    triedAt = performance.now();
    try {
      await port.tryWrite(health.isFull);
      health.tookWrite();
    } catch (error) {
      if (isOutage(error)) health.failed(error);
    }
  };
}

type CallNotes = {
  readonly health: StoreHealth;
  /** Called with the name and the duration of each call. */
  readonly observe: (operation: string, seconds: number) => void;
  readonly onClose: () => void;
  /** Makes a call in its own span; undefined without tracing. */
  readonly traced?: TracedCall;
};

type TracedCall = (operation: string, call: () => unknown) => unknown;

/** Returns a function that makes calls in spans, if they belong to a traced request. */
function tracedCalls(tracing: Tracing, store: StoreName): TracedCall {
  return (operation, call) => {
    if (!tracing.isTraced()) return call();
    const attributes = { 'sluice.store': store, 'sluice.operation': operation };
    const span = tracing.begin({ name: `${store} ${operation}`, kind: 'client', attributes });
    const answer = span.run(call);
    if (!(answer instanceof Promise)) span.end({});
    else
      answer.then(
        () => span.end({}),
        (error: Error) => span.end({}, error.name),
      );
    return answer;
  };
}

/**
 * Returns whether a call failed because the store did not answer. After too long a wait for a lock it has
 * answered; after too long a wait in this process it was not called.
 */
function isOutage(error: unknown): boolean {
  const isOwn = error instanceof LockedTooLong || error instanceof Overloaded;
  return error instanceof Unavailable && !isOwn;
}

function noteCalls<Port extends StorePort>(
  port: Port,
  { health, observe, onClose, traced }: CallNotes,
): Port {
  let isClosed = false;
  const note = async (name: PropertyKey, answer: Promise<unknown>): Promise<unknown> => {
    const beganAt = performance.now();
    try {
      const value = await answer;
      health.succeeded();
      return value;
    } catch (error) {
      if (isOutage(error) && !isClosed) health.failed(error);
      throw error;
    } finally {
      observe(String(name), (performance.now() - beganAt) / 1000);
    }
  };
  const close = (): Promise<void> => {
    isClosed = true;
    onClose();
    return port.close();
  };
  const wrappers = new Map<PropertyKey, unknown>([
    ['close', close],
    // The probe judges the answer of this call, which never rejects.
    ['isReachable', () => port.isReachable()],
  ]);
  return new Proxy(port, {
    get(target, name) {
      const known = wrappers.get(name);
      if (known !== undefined) return known;
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      const wrapper = (...args: unknown[]): unknown => {
        const answer: unknown =
          traced === undefined
            ? Reflect.apply(member, target, args)
            : traced(String(name), () => Reflect.apply(member, target, args));
        return answer instanceof Promise ? note(name, answer) : answer;
      };
      wrappers.set(name, wrapper);
      return wrapper;
    },
  });
}
