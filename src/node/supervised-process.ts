// A process of the service that its parent keeps running: calls, metrics, log lines, stop, and the
// watchdog that ends it when it hangs.

import { fileURLToPath } from 'node:url';
import { SoleCall } from '../flow/sole-call.ts';
import { withinTime } from '../flow/within-time.ts';
import type { ProcessMetrics } from '../observe/join-metrics.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { StoreName } from '../observe/store-health.ts';
import { ChildService, type ForkedChild } from '../process/child-process.ts';

/** Maximum number of notifications on their way to a process. */
const UNANSWERED_MAX = 100;

type SupervisedProcessOptions = {
  /** Name for the log, such as `worker 2`. */
  readonly name: string;
  /** Arguments that tell subprocess.ts what the process is to do. */
  readonly args: readonly string[];
  /** Time for which a stop lets the process finish its work before it is killed. */
  readonly stopMsMax: number;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'processes'>;
  /** Answers the process's calls. */
  readonly answer: (call: CallsToSupervisor['call']) => Promise<CallsToSupervisor['answer']>;
};

export class SupervisedProcess {
  private readonly options: SupervisedProcessOptions;
  private readonly service: ChildService<CallsToProcess, CallsToSupervisor>;
  /** Whether the process that runs now is being killed because it did not answer. */
  private isHung = false;
  private isDraining = false;
  /** The last process that said it is ready. */
  private readyChild: ForkedChild<CallsToProcess, CallsToSupervisor> | undefined;
  private readonly askingMetrics = new SoleCall(async () => this.service.child?.call('metrics'));
  private readonly askingReadiness = new SoleCall(async () =>
    this.service.child?.call('readiness'),
  );
  /** Number of notifications that the process has not taken note of. */
  private unanswered = 0;

  constructor(options: SupervisedProcessOptions) {
    const { name, args, stopMsMax, log, metrics, answer } = options;
    this.options = options;
    this.service = new ChildService({
      name,
      program: {
        modulePath: modulePath(),
        args,
        // Only one process can listen on a debugger's port; other flags, such as those of the heap, are
        // passed on.
        options: { execArgv: process.execArgv.filter((flag) => !flag.startsWith('--inspect')) },
      },
      stopMsMax,
      answer,
      onReady: (child) => {
        this.readyChild = child;
        if (this.isDraining) void child.call('drain');
      },
      onEnd: ({ how, startError, restartInMs }) => {
        metrics.processes.add('restarted');
        const reason = this.isHung ? 'it hung' : startError?.message;
        this.isHung = false;
        log.error({ process: name, how, reason, restartInMs }, 'a process ended by itself');
      },
    });
  }

  /** The process that runs now; undefined between the end of one and the start of the next. */
  get child(): ForkedChild<CallsToProcess, CallsToSupervisor> | undefined {
    return this.service.child;
  }

  /** Whether the process that runs now has said that it is ready. */
  get isReady(): boolean {
    return this.child !== undefined && this.child === this.readyChild;
  }

  /** Whether the process exists; it may still be starting. */
  get isAlive(): boolean {
    return this.service.child !== undefined;
  }

  /** Starts the process and keeps it running until `stop`; resolves or rejects as its first start does. */
  start(): Promise<void> {
    return this.service.start();
  }

  /**
   * Reads the process's metrics; undefined when they do not come in time, or when an earlier call is still
   * unanswered.
   */
  async readMetrics(waitMsMax: number): Promise<ProcessMetrics | undefined> {
    const answer = await this.askingMetrics.ask(waitMsMax);
    return Array.isArray(answer) ? answer : undefined;
  }

  /**
   * Reads whether the process can decide; undefined when it does not say so in time, or when an earlier call
   * is still unanswered.
   */
  async readReadiness(waitMsMax: number): Promise<ProcessReadiness | undefined> {
    const answer = await this.askingReadiness.ask(waitMsMax);
    return Array.isArray(answer) ? undefined : answer;
  }

  /**
   * Tells the process a notification or settings; resolves when they count there, or after `waitMsMax`. A
   * process that has many unanswered ones hangs, and is told no more.
   */
  async tell(notification: NodeNotification | Settings, waitMsMax: number): Promise<void> {
    if (this.unanswered >= UNANSWERED_MAX) return;
    this.unanswered += 1;
    const told = Promise.resolve(this.service.child?.call(notification)).finally(() => {
      this.unanswered -= 1;
    });
    await withinTime(told, waitMsMax);
  }

  /** Kills the process because it did not answer for `silentMs`; it is started again. */
  killHung(silentMs: number): void {
    const { name, log, metrics } = this.options;
    this.isHung = true;
    metrics.processes.add('hung');
    log.error({ process: name, silentMs }, 'a process does not answer and is killed');
    this.service.child?.kill();
  }

  /**
   * Makes the process not ready, and whatever is started in its place; resolves when it is, or after
   * `waitMsMax`.
   */
  async drain(waitMsMax: number): Promise<void> {
    this.isDraining = true;
    await withinTime(Promise.resolve(this.service.child?.call('drain')), waitMsMax);
  }

  /** Makes the process stop accepting connections; resolves when it has stopped, or after `waitMsMax`. */
  async close(waitMsMax: number): Promise<void> {
    this.service.startNoMore();
    await withinTime(Promise.resolve(this.service.child?.call('close')), waitMsMax);
  }

  /** Lets the process finish its work, kills it when that takes too long, and waits for its end. */
  async stop(): Promise<void> {
    const { name, log } = this.options;
    if (!(await this.service.stop())) log.warn({ process: name }, 'a process did not stop in time');
  }
}

/** Returns the path of subprocess.ts, or of its built file, in the folder above this one. */
function modulePath(): string {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return fileURLToPath(new URL(`./subprocess.${extension}`, import.meta.url));
}

// Calls between a process of the service and the process that started it.

/**
 * Calls to a process: `metrics` is answered with its metrics, `readiness` with whether it can decide; `drain`
 * makes it not ready, and `close` makes it stop accepting connections, and both are answered without a value
 * once that is so; `ping` is answered without a value at once, unless the process hangs; notifications and
 * settings are answered without a value once they count.
 */
export type CallsToProcess = {
  readonly call: 'metrics' | 'readiness' | 'drain' | 'close' | 'ping' | NodeNotification | Settings;
  readonly answer: ProcessMetrics | ProcessReadiness | undefined;
};

/**
 * Calls to the process that started the others: `sum` reads the sum of the metrics of all processes, as text,
 * undefined when they could not be added up; `readiness` reads whether any serving process can decide;
 * `settings` reads those that every process of the node uses now; notifications are passed on to the serving
 * processes, and are answered without a value once they count or a limit of time has passed.
 */
export type CallsToSupervisor = {
  readonly call: 'sum' | 'readiness' | 'settings' | NodeNotification;
  readonly answer: string | ProcessReadiness | Settings | undefined;
};

/**
 * Readiness of serving processes: why they cannot decide, undefined when they can, and the stores that they
 * do without, since when, and what that means.
 */
export type ProcessReadiness = {
  readonly obstacle: string | undefined;
  readonly degraded: readonly {
    readonly store: StoreName;
    readonly since: string;
    readonly message: string;
  }[];
};

/** Settings that change while a node runs; what they mean is known to its processes. */
export type Settings = { readonly settings: unknown };

/** Notification by one process of the node to the serving ones; what it means is known to those processes. */
type NodeNotification = { readonly notification: unknown };

// Watchdog over the child processes of a node: a process that runs but does not answer any more is killed, so
// that it is started again.
//
// Silence is counted in ticks of this process, not in time. When the whole machine stands still (a suspended
// laptop, a paused container), or when this process comes late itself, no ticks pass for the children either,
// and none is killed for a silence that was not its own.

type WatchedProcess = {
  /** The process that runs now; undefined between the end of one and the start of the next. */
  readonly child: { call(call: 'ping'): Promise<unknown> } | undefined;
  /** Whether the process that runs now has started: it has said so, whether or not it was asked since. */
  readonly isReady: boolean;
  /** Kills the process that runs now, because it did not answer for `silentMs`. */
  killHung(silentMs: number): void;
};

type WatchdogOptions = {
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
