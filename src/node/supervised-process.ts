// Process of the service that its parent keeps running: its metrics, its stop and its log lines.

import { fileURLToPath } from 'node:url';
import { SoleCall } from '../flow/sole-call.ts';
import { withinTime } from '../flow/within-time.ts';
import type { ProcessMetrics } from '../observe/join-metrics.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { ChildService } from '../process/child-process.ts';
import type { ForkedChild } from '../process/forked-child.ts';
import type {
  CallsToProcess,
  CallsToSupervisor,
  News,
  ProcessReadiness,
  Settings,
} from './calls-to-process.ts';

/** Maximum number of news on their way to a process. */
const UNTOLD_MAX = 100;

export type KeptProcessOptions = {
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

export class KeptProcess {
  private readonly options: KeptProcessOptions;
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
  /** Number of news that the process has not taken note of. */
  private untold = 0;

  constructor(options: KeptProcessOptions) {
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
   * Tells the process news or settings; resolves when they count there, or after `waitMsMax`. A process that
   * has many unanswered ones hangs, and is told no more.
   */
  async tell(news: News | Settings, waitMsMax: number): Promise<void> {
    if (this.untold >= UNTOLD_MAX) return;
    this.untold += 1;
    const told = Promise.resolve(this.service.child?.call(news)).finally(() => {
      this.untold -= 1;
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
