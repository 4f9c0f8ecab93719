// Watchdog over the child processes of a node: a process that runs but does not answer any more is killed, so
// that it is started again.
//
// Silence is counted in ticks of this process, not in time. When the whole machine stands still (a suspended
// laptop, a paused container), or when this process comes late itself, no ticks pass for the children either,
// and none is killed for a silence that was not its own.

export type WatchedProcess = {
  /** The process that runs now; undefined between the end of one and the start of the next. */
  readonly child: { call(call: 'ping'): Promise<unknown> } | undefined;
  /** Whether the process that runs now has started: it has said so, whether or not it was asked since. */
  readonly isReady: boolean;
  /** Kills the process that runs now, because it did not answer for `silentMs`. */
  killHung(silentMs: number): void;
};

export type WatchdogOptions = {
  /** Time between two questions to a process. */
  readonly tickMs: number;
  /** Silence after which a process counts as hung. Long work that blocks a process takes less than this. */
  readonly silenceMsMax: number;
  /** Silence of one that has not said yet that it is ready: on a busy machine, modules load slowly. */
  readonly startSilenceMsMax: number;
};

export const WATCHDOG_LIMITS: WatchdogOptions = {
  tickMs: 1000,
  silenceMsMax: 10_000,
  startSilenceMsMax: 60_000,
};

/** Silence of one child. */
type Watch = {
  readonly child: WatchedProcess['child'];
  hasAnswered: boolean;
  isAsked: boolean;
  /** Number of ticks since the question that is unanswered. */
  silentTicks: number;
  isKilled: boolean;
};

/** Asks every process for a sign of life, and kills those that stay silent. */
export class Watchdog {
  private readonly options: WatchdogOptions;
  private readonly watches = new Map<WatchedProcess, Watch>();
  private readonly timer: NodeJS.Timeout;

  constructor(processes: readonly WatchedProcess[], options = WATCHDOG_LIMITS) {
    this.options = options;
    for (const each of processes) this.watches.set(each, newWatch(undefined));
    this.timer = setInterval(() => this.tick(), options.tickMs);
  }

  /** Ends the watch: processes that stop may be silent. */
  stop(): void {
    clearInterval(this.timer);
  }

  private tick(): void {
    for (const [process, known] of this.watches) {
      const { child } = process;
      const watch = known.child === child ? known : newWatch(child);
      this.watches.set(process, watch);
      if (child === undefined || watch.isKilled) continue;
      if (!watch.isAsked) this.ask(watch);
      else this.countSilence(process, watch);
    }
  }

  private ask(watch: Watch): void {
    watch.isAsked = true;
    // The end of a child answers the call as well; the next child then has a watch of its own.
    void watch.child?.call('ping').then(() => {
      watch.hasAnswered = true;
      watch.isAsked = false;
      watch.silentTicks = 0;
    });
  }

  private countSilence(process: WatchedProcess, watch: Watch): void {
    const { tickMs, silenceMsMax, startSilenceMsMax } = this.options;
    watch.silentTicks += 1;
    const silentMs = watch.silentTicks * tickMs;
    const hasStarted = watch.hasAnswered || process.isReady;
    if (silentMs < (hasStarted ? silenceMsMax : startSilenceMsMax)) return;
    watch.isKilled = true;
    process.killHung(silentMs);
  }
}

function newWatch(child: WatchedProcess['child']): Watch {
  return { child, hasAnswered: false, isAsked: false, silentTicks: 0, isKilled: false };
}
