// A process of the service that is kept running by the one that started it.
//
//   starting ──ready──▶ running ──ends by itself──▶ waiting (100 ms, doubling to 5 s) ──▶ starting …
//       └── stop: told to end, killed when it does not; never started again ──▶ over
//
// It ends by itself when this process is gone, whichever way: its end of the channel closes.

import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { ProcessFigures } from '../observe/sum-figures.ts';
import type { MessageToChild, MessageToParent } from './message.ts';
import { restartDelay } from './restart-delay.ts';

export type KeptProcessOptions = {
  /** For the log, such as `worker 2`. */
  readonly name: string;
  /** What subprocess.ts reads its part from. */
  readonly args: readonly string[];
  /** How long a stop lets it finish what it has in flight, before it is killed. */
  readonly stopMsMax: number;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'processes'>;
  /** Adds the figures of all processes up, for this one to answer `/metrics` with. */
  readonly sum: () => Promise<string | undefined>;
};

type Started = { readonly resolve: () => void; readonly reject: (error: Error) => void };

export class KeptProcess {
  private readonly options: KeptProcessOptions;
  private child: ChildProcess | undefined;
  private timer: NodeJS.Timeout | undefined;
  private delayMs = 0;
  private isStopping = false;
  private started: Started | undefined;
  private lastQuestion = 0;
  /** Whether it was asked for its figures and has not told them yet, be it too late. */
  private owesFigures = false;
  private readonly questions = new Map<number, (answer: MessageToParent) => void>();

  constructor(options: KeptProcessOptions) {
    this.options = options;
  }

  /** Whether it is there; it may be starting still. */
  get isAlive(): boolean {
    return this.child !== undefined;
  }

  /**
   * Starts it, and from then on starts it again whenever it ends, until `stop`. Resolves when it is ready
   * for the first time; rejects, with its reason in one line, when its first life ends before that.
   */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.started = { resolve, reject };
      this.launch();
    });
  }

  /** Its own figures; undefined when it does not tell them in time. */
  async figures(waitMsMax: number): Promise<ProcessFigures | undefined> {
    // Of one that hangs nothing more is asked: the questions would pile up.
    if (this.owesFigures) return undefined;
    this.owesFigures = this.child !== undefined;
    const answer = await this.ask('figures', waitMsMax);
    return answer?.kind === 'figures' ? answer.figures : undefined;
  }

  /** Lets it take no new connections any more; resolves when it does not, or after `waitMsMax`. */
  async close(waitMsMax: number): Promise<void> {
    this.isStopping = true;
    await this.ask('close', waitMsMax);
  }

  /** Lets it finish what it has in flight, kills it when that takes too long, and waits for its end. */
  async stop(): Promise<void> {
    this.isStopping = true;
    clearTimeout(this.timer);
    const { child } = this;
    if (child === undefined) return;
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    const timer = setTimeout(() => {
      this.options.log.warn({ process: this.options.name }, 'a process did not stop in time');
      child.kill('SIGKILL');
    }, this.options.stopMsMax);
    this.send({ kind: 'stop' });
    await ended;
    clearTimeout(timer);
  }

  private launch(): void {
    const startedAt = performance.now();
    const child = fork(modulePath(), [...this.options.args], {
      // A debugger's port can be had once only; other flags, such as those of the heap, hold for all.
      execArgv: process.execArgv.filter((flag) => !flag.startsWith('--inspect')),
      serialization: 'advanced',
    });
    this.child = child;
    child.on('message', (message: MessageToParent) => this.receive(message));
    let isOver = false;
    const end = (how: string): void => {
      if (isOver) return;
      isOver = true;
      this.child = undefined;
      this.owesFigures = false;
      this.relaunch(how, performance.now() - startedAt);
    };
    child.once('exit', (code, signal) => end(signal ?? `code ${code}`));
    child.on('error', (error) => {
      // Never started; where it did start, `exit` follows.
      if (child.pid === undefined) end(error.message);
    });
  }

  private relaunch(how: string, livedMs: number): void {
    const { name, log, metrics } = this.options;
    if (this.isStopping) return;
    this.started?.reject(new Error(`${name} ended before it was ready (${how})`));
    this.started = undefined;
    this.delayMs = restartDelay(this.delayMs, livedMs);
    metrics.processes.add('restarted');
    log.error({ process: name, how, restartInMs: this.delayMs }, 'a process ended by itself');
    this.timer = setTimeout(() => this.launch(), this.delayMs);
  }

  private receive(message: MessageToParent): void {
    const { name, log } = this.options;
    if (message.kind === 'ready') {
      this.started?.resolve();
      this.started = undefined;
    } else if (message.kind === 'refused') {
      if (this.started === undefined) {
        log.error({ process: name, reason: message.reason }, 'a process cannot start');
      }
      this.started?.reject(new Error(message.reason));
      this.started = undefined;
    } else if (message.kind === 'sum') {
      void this.tellSum(message.id);
    } else {
      if (message.kind === 'figures') this.owesFigures = false;
      this.questions.get(message.id)?.(message);
    }
  }

  /** Its answer; undefined when it is not there or does not answer in time. */
  private async ask(
    kind: 'figures' | 'close',
    waitMsMax: number,
  ): Promise<MessageToParent | undefined> {
    if (this.child === undefined) return undefined;
    const id = ++this.lastQuestion;
    let timer: NodeJS.Timeout | undefined;
    const answer = await new Promise<MessageToParent | undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), waitMsMax);
      this.questions.set(id, resolve);
      this.send({ kind, id });
    });
    clearTimeout(timer);
    this.questions.delete(id);
    return answer;
  }

  private async tellSum(id: number): Promise<void> {
    this.send({ kind: 'sum', id, text: await this.options.sum() });
  }

  /** What cannot be delivered needs no answer: the process is ending, or starting again. */
  private send(message: MessageToChild): void {
    if (this.child?.connected) this.child.send(message, () => undefined);
  }
}

/** Beside this file's folder, from the build as from the sources. */
function modulePath(): string {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return fileURLToPath(new URL(`../subprocess.${extension}`, import.meta.url));
}
