// A child process that its parent keeps running: calls, metrics, log lines, stop, and the watchdog that kills
// it when it hangs.

import { fileURLToPath } from 'node:url';
import { SoleCall } from '../../flow/shared-call.ts';
import { withinTime } from '../../flow/within-time.ts';
import type { ProcessMetrics } from '../../observe/join-metrics.ts';
import type { Log } from '../../observe/log.ts';
import type { Metrics } from '../../observe/metrics.ts';
import type { StoreName } from '../../observe/store-health.ts';
import { ChildService, type ForkedChild } from '../../process/child-process.ts';

/** Maximum number of unanswered notifications to a process. */
const UNANSWERED_MAX = 100;

type SupervisedProcessOptions = {
  /** Name for the log, such as `worker 2`. */
  readonly name: string;
  /** Arguments of subprocess.ts. */
  readonly args: readonly string[];
  /** Time that a stop gives the process to finish its work. */
  readonly stopMsMax: number;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'processes'>;
  /** Answers calls of the process. */
  readonly answer: (call: CallsToSupervisor['call']) => Promise<CallsToSupervisor['answer']>;
};

export class SupervisedProcess {
  private readonly service: ChildService<CallsToProcess, CallsToSupervisor>;
  /** Whether the present process is being killed because it did not answer. */
  private isHung = false;
  private isDraining = false;
  /** The latest process that has reported ready. */
  private readyChild: ForkedChild<CallsToProcess, CallsToSupervisor> | undefined;
  private readonly askingMetrics = new SoleCall(async () => this.service.child?.call('metrics'));
  private readonly askingReadiness = new SoleCall(async () =>
    this.service.child?.call('readiness'),
  );
  /** Number of unanswered notifications. */
  private unanswered = 0;

  constructor(private readonly options: SupervisedProcessOptions) {
    const { name, args, stopMsMax, log, metrics, answer } = options;
    this.service = new ChildService({
      name,
      program: {
        modulePath: modulePath(),
        args,
        // Only one process can listen on a debugger's port. Other flags, such as the heap size, are passed
        // on.
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

  /** The present process; undefined between the end of one and the start of the next. */
  get child(): ForkedChild<CallsToProcess, CallsToSupervisor> | undefined {
    return this.service.child;
  }

  /** Whether the present process has reported ready. */
  get isReady(): boolean {
    return this.child !== undefined && this.child === this.readyChild;
  }

  /** Whether the process exists; it may still be starting. */
  get isAlive(): boolean {
    return this.service.child !== undefined;
  }

  /** Starts the process and keeps it running until `stop`; settles with its first start. */
  start(): Promise<void> {
    return this.service.start();
  }

  /** Reads the process's metrics; undefined if they are late, or if an earlier call is unanswered. */
  async readMetrics(waitMsMax: number): Promise<ProcessMetrics | undefined> {
    const answer = await this.askingMetrics.ask(waitMsMax);
    return Array.isArray(answer) ? answer : undefined;
  }

  /** Reads whether the process can decide; undefined if it is late, or if an earlier call is unanswered. */
  async readReadiness(waitMsMax: number): Promise<ProcessReadiness | undefined> {
    const answer = await this.askingReadiness.ask(waitMsMax);
    return Array.isArray(answer) ? undefined : answer;
  }

  /**
   * Sends a notification or settings; resolves when they apply, or after `waitMsMax`. A process with
   * `UNANSWERED_MAX` unanswered calls hangs, and gets no more.
   */
  async tell(notification: NodeNotification | Settings, waitMsMax: number): Promise<void> {
    if (this.unanswered >= UNANSWERED_MAX) return;
    this.unanswered += 1;
    const told = Promise.resolve(this.service.child?.call(notification)).finally(() => {
      this.unanswered -= 1;
    });
    await withinTime(told, waitMsMax);
  }

  /** Kills the process, which did not answer for `silentMs`; it is restarted. */
  killHung(silentMs: number): void {
    const { name, log, metrics } = this.options;
    this.isHung = true;
    metrics.processes.add('hung');
    log.error({ process: name, silentMs }, 'a process does not answer and is killed');
    this.service.child?.kill();
  }

  /** Makes this process and its successors not ready; resolves when it is, or after `waitMsMax`. */
  async drain(waitMsMax: number): Promise<void> {
    this.isDraining = true;
    await withinTime(Promise.resolve(this.service.child?.call('drain')), waitMsMax);
  }

  /** Makes the process stop accepting connections; resolves when it has, or after `waitMsMax`. */
  async close(waitMsMax: number): Promise<void> {
    this.service.startNoMore();
    await withinTime(Promise.resolve(this.service.child?.call('close')), waitMsMax);
  }

  /** Lets the process finish its work, kills it if that takes too long, and waits for its end. */
  async stop(): Promise<void> {
    const { name, log } = this.options;
    if (!(await this.service.stop())) log.warn({ process: name }, 'a process did not stop in time');
  }
}

/** Returns the path of subprocess.ts or of its built file, beside this file. */
function modulePath(): string {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return fileURLToPath(new URL(`./subprocess.${extension}`, import.meta.url));
}

/**
 * Calls to a process: `metrics` reads its metrics and `readiness` whether it can decide; `drain` makes it not
 * ready; `close` makes it stop accepting connections; `ping` is answered at once, unless the process hangs;
 * notifications and settings are answered once they apply.
 */
export type CallsToProcess = {
  readonly call: 'metrics' | 'readiness' | 'drain' | 'close' | 'ping' | NodeNotification | Settings;
  readonly answer: ProcessMetrics | ProcessReadiness | undefined;
};

/**
 * Calls to the parent process: `sum` reads the joined metrics of all processes as text, undefined if that
 * failed; `readiness` reads whether any serving process can decide; `settings` reads the node's present
 * settings; notifications go to the serving processes and are answered once they apply or after a time limit.
 */
export type CallsToSupervisor = {
  readonly call: 'sum' | 'readiness' | 'settings' | NodeNotification;
  readonly answer: string | ProcessReadiness | Settings | undefined;
};

/** Readiness: why a process cannot decide, undefined if it can, and the stores that it lacks. */
export type ProcessReadiness = {
  readonly obstacle: string | undefined;
  readonly degraded: readonly {
    readonly store: StoreName;
    readonly since: string;
    readonly message: string;
  }[];
};

/** Settings that change at run time; only the processes know their content. */
export type Settings = { readonly settings: unknown };

/** Notification from one process to the serving ones; only they know its content. */
type NodeNotification = { readonly notification: unknown };

// Watchdog: kills a child process that runs but does not answer, so that it is restarted.
//
// It counts silence in ticks of this process, not in time. When the whole machine pauses (a suspended laptop,
// a paused container), or this process is late itself, no ticks pass, and no child is killed for that.

type WatchedProcess = {
  /** The present process; undefined between the end of one and the start of the next. */
  readonly child: { call(call: 'ping'): Promise<unknown> } | undefined;
  /** Whether the present process has reported ready. */
  readonly isReady: boolean;
  /** Kills the present process, which did not answer for `silentMs`. */
  killHung(silentMs: number): void;
};

type WatchdogOptions = {
  /** Time between two pings of a process. */
  readonly tickMs: number;
  /** Silence after which a process counts as hung; longer than any work that blocks a process. */
  readonly silenceMsMax: number;
  /** Silence allowed before a process has reported ready, because a busy machine loads modules slowly. */
  readonly startSilenceMsMax: number;
};

export const WATCHDOG_LIMITS: WatchdogOptions = {
  tickMs: 1000,
  silenceMsMax: 10_000,
  startSilenceMsMax: 60_000,
};

type Watch = {
  readonly child: WatchedProcess['child'];
  hasAnswered: boolean;
  isAsked: boolean;
  /** Number of ticks since the unanswered ping. */
  silentTicks: number;
  isKilled: boolean;
};

/** Pings every process, and kills those that stay silent. */
export class Watchdog {
  private readonly options: WatchdogOptions;
  private readonly watches = new Map<WatchedProcess, Watch>();
  private readonly timer: NodeJS.Timeout;

  constructor(processes: readonly WatchedProcess[], options = WATCHDOG_LIMITS) {
    this.options = options;
    for (const each of processes) this.watches.set(each, newWatch(undefined));
    this.timer = setInterval(() => this.tick(), options.tickMs);
  }

  /** Ends the watch, because stopping processes may be silent. */
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
    // The call also ends when the child ends; the next child has its own watch.
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
