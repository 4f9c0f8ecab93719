// Work that runs in turns, one after another, until it is stopped: polls, sweeps, drivers and watches.

import { Unavailable } from '../contract/store-fault.ts';

export type Periodic = {
  readonly isStopped: boolean;
  /** Schedules the first turn; further calls do nothing. */
  start(): void;
  /** Takes a turn now, besides the scheduled ones; returns whether it left more to do. */
  turn(): Promise<boolean>;
  /** Schedules no further turn, and waits for the end of all that are taken. */
  stop(): Promise<void>;
};

type PeriodicOptions = {
  /** Milliseconds between the end of a turn and the next one. */
  readonly everyMs: number;
  /** Milliseconds before the first turn; default: `everyMs`. */
  readonly firstMs?: number;
  /** Milliseconds before the next turn after one that left more to do; default: `everyMs`. */
  readonly busyMs?: number;
  /**
   * Greatest fraction of `everyMs` by which a wait is shortened at random, so that nodes that started at the
   * same time do not poll at the same time for ever; default: 0.
   */
  readonly jitter?: number;
  /** Called with the error of a failed turn; the turns go on. Without it, no turn may reject. */
  readonly onFault?: (error: unknown) => void;
};

/** Creates the turns of `work`, which resolves with true when it left more to do. */
export function periodic(
  work: () => Promise<unknown>,
  { everyMs, firstMs, busyMs, jitter = 0, onFault }: PeriodicOptions,
): Periodic {
  let timer: NodeJS.Timeout | undefined;
  let taken: Promise<unknown> = Promise.resolve();
  let isStarted = false;
  let isStopped = false;
  const turn = (): Promise<boolean> => {
    const next = (async () => work())().catch((error) => {
      if (onFault === undefined) throw error;
      onFault(error);
    });
    taken = Promise.allSettled([taken, next]);
    return next.then((hasMore) => hasMore === true);
  };
  const schedule = (ms = everyMs * (1 - jitter * Math.random())): void => {
    if (isStopped) return;
    if (ms === 0) void cycle();
    else timer = setTimeout(cycle, ms).unref();
  };
  const cycle = async (): Promise<void> => schedule((await turn()) ? busyMs : undefined);
  return {
    get isStopped() {
      return isStopped;
    },
    start() {
      if (!isStarted) schedule(firstMs);
      isStarted = true;
    },
    turn,
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await taken;
    },
  };
}

// Faults that work survives, because it is tried again. The health of a store reports that the store is
// unavailable; any other fault is a bug.

type Observers<Place> = {
  readonly metrics: { readonly faults: { add(place: Place): void } };
  readonly log: Readonly<Record<'debug' | 'error', (details: object, message: string) => void>>;
};

type FaultOptions = {
  /** Message while a store is unavailable; default: the usual one. False: nothing is logged then. */
  readonly waits?: string | false;
  readonly details?: object;
};

/** Counts a fault under its place, and logs it: at level error, or debug if a store is unavailable. */
export function tellFault<Place>(
  { metrics, log }: Observers<Place>,
  place: Place,
  error: unknown,
  message: string,
  { waits = message, details }: FaultOptions = {},
): void {
  metrics.faults.add(place);
  if (!(error instanceof Unavailable)) log.error({ err: error, ...details }, message);
  else if (waits !== false) log.debug({ err: error, ...details }, waits);
}
