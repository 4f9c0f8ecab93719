// Child process that its parent keeps running.
//
//   starting ──ready──▶ working ──ends by itself──▶ waiting (100 ms, doubling to 5 s) ──▶ starting …
//       └── stop: asked to end, killed if it does not; never restarted ──▶ over
//
// The child ends by itself when its parent is gone, because its end of the channel closes then.

import { type ChildProcess, type ForkOptions, fork } from 'node:child_process';
import { type BackOff, backOffMs, pause } from '../flow/pause.ts';

const BACK_OFF: BackOff = { minMs: 100, maxMs: 5000 };
/** Milliseconds of work after which the end of a child counts as its first failure again. */
const SOUND_LIFE_MS = 30_000;

/** End of a child that was not asked to end. */
export type ChildEnd = {
  /** Signal or exit code, as text. */
  readonly how: string;
  /** Why the child did not become ready; undefined if it did. */
  readonly startError: Error | undefined;
  readonly restartInMs: number;
};

type ChildServiceOptions<Down extends Calls, Up extends Calls> = {
  /** Name of the child in messages, such as `worker 2`. */
  readonly name: string;
  readonly program: ChildProgram;
  /** Time after which a child that is not ready is killed. Default: no limit. */
  readonly startMsMax?: number;
  /** Time in which a stopping child may finish its work before it is killed. */
  readonly stopMsMax: number;
  /** Answers the child's calls. */
  readonly answer: (call: Up['call']) => Promise<Up['answer']>;
  /** Called with each child that becomes ready. */
  readonly onReady?: (child: ForkedChild<Down, Up>) => void;
  readonly onEnd: (end: ChildEnd) => void;
};

/** Service of a child process. `Down` are the calls to the child, `Up` those from it. */
export class ChildService<Down extends Calls, Up extends Calls> {
  private readonly stopping = new AbortController();
  private current: ForkedChild<Down, Up> | undefined;
  private keeping: Promise<void> = Promise.resolve();

  constructor(private readonly options: ChildServiceOptions<Down, Up>) {}

  /** Present child, which may still be starting; undefined between one child and the next. */
  get child(): ForkedChild<Down, Up> | undefined {
    return this.current;
  }

  /**
   * Starts the child, and restarts it whenever it ends, until `stop`. Resolves when it is first ready, or was
   * stopped before; rejects with a reason of one line if the first child ends by itself before it is ready.
   */
  async start(): Promise<void> {
    const child = this.launch();
    this.keeping = this.keep(child);
    try {
      await child.ready;
    } catch (error) {
      // A child that is stopped while it starts ends without being ready, which is no error.
      if (!this.stopping.signal.aborted) throw error;
    }
  }

  /** Prevents further restarts of the child. */
  startNoMore(): void {
    this.stopping.abort();
  }

  /** Lets the child finish and waits for its end; false if it had to be killed. */
  async stop(): Promise<boolean> {
    this.startNoMore();
    const isInTime = await this.current?.stop(this.options.stopMsMax);
    await this.keeping;
    return isInTime ?? true;
  }

  private launch(): ForkedChild<Down, Up> {
    const { name, program, answer } = this.options;
    this.current = new ForkedChild(name, program, answer);
    return this.current;
  }

  private async keep(first: ForkedChild<Down, Up>): Promise<void> {
    const { signal } = this.stopping;
    let failures = 0;
    for (let child = first; ; child = this.launch()) {
      const { how, startError, workedMs } = await this.awaitEnd(child);
      if (signal.aborted) return;
      failures = workedMs >= SOUND_LIFE_MS ? 1 : failures + 1;
      const restartInMs = backOffMs(BACK_OFF, failures);
      this.options.onEnd({ how, startError, restartInMs });
      await pause(restartInMs, signal);
      if (signal.aborted) return;
    }
  }

  /** Waits for the end of a child; kills it if its start takes too long. */
  private async awaitEnd(child: ForkedChild<Down, Up>) {
    const { startMsMax, onReady } = this.options;
    const tooLate =
      startMsMax === undefined ? undefined : setTimeout(() => child.kill(), startMsMax);
    let readyAt = Number.POSITIVE_INFINITY;
    let startError: Error | undefined;
    const starting = child.ready.then(
      () => {
        clearTimeout(tooLate);
        readyAt = performance.now();
        onReady?.(child);
      },
      (error: Error) => {
        startError = error;
      },
    );
    const how = await child.ended;
    this.current = undefined;
    clearTimeout(tooLate);
    await starting;
    return { how, startError, workedMs: performance.now() - readyAt };
  }
}

// One end of a channel on which two processes call each other. Numbers match answers to calls.

type CallChannelOptions<In extends Calls> = {
  /** Throws if a message cannot be copied to the other process. */
  readonly send: (message: CallMessage | AnswerMessage) => void;
  /** Answers a call of the other end. */
  readonly answer: (call: In['call']) => Promise<In['answer']>;
};

/** `Out` are the calls that this end makes, `In` those that it answers. */
class CallChannel<Out extends Calls, In extends Calls> {
  /** Resolvers of the unanswered calls by id. They are few, because callers make few calls at a time. */
  private readonly pending = new Map<number, (answer: Out['answer'] | undefined) => void>();
  private lastId = 0;
  private isClosed = false;

  constructor(private readonly options: CallChannelOptions<In>) {}

  /** Returns the other end's answer; undefined if that end closes. Rejects if a call cannot be copied. */
  call(call: Out['call']): Promise<Out['answer'] | undefined> {
    if (this.isClosed) return Promise.resolve(undefined);
    const id = ++this.lastId;
    return new Promise((resolve) => {
      this.options.send({ kind: 'call', id, call });
      this.pending.set(id, resolve);
    });
  }

  /** Handles a message of the other end. */
  receive(message: CallMessage | AnswerMessage): void {
    if (message.kind === 'call') {
      void this.answerCall(message);
    } else {
      this.pending.get(message.id)?.(message.answer as Out['answer']);
      this.pending.delete(message.id);
    }
  }

  /** Resolves all unanswered calls with undefined, because the other end is gone. */
  close(): void {
    this.isClosed = true;
    for (const resolve of this.pending.values()) resolve(undefined);
    this.pending.clear();
  }

  private async answerCall({ id, call }: CallMessage): Promise<void> {
    const answer = await this.options.answer(call as In['call']);
    this.options.send({ kind: 'answer', id, answer });
  }
}

/** Calls in one direction, and their answers: plain values that can be copied to another process. */
type Calls = { readonly call: unknown; readonly answer: unknown };

/** A direction without calls. */
export type NoCalls = { readonly call: never; readonly answer: undefined };

// One child process from its start to its end, as the parent sees it.
//
//   starting ──ready──▶ working ──▶ ended      A process that is killed, or whose parent is gone, ends
//       └──refused / killed / crashed──▲       in every state.

type ChildProgram = {
  readonly modulePath: string;
  readonly args: readonly string[];
  /** Flags, environment and streams of the process. */
  readonly options: Pick<ForkOptions, 'execArgv' | 'env' | 'stdio'>;
};

/** Children that have not ended. */
const living = new Set<ChildProcess>();
// A child sees that its parent is gone once it looks at its channel. A blocked child, such as one that waits
// for a write to the disk, would go on using the data directory while the next service starts on it.
process.on('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

/** `Down` are the calls to the child, `Up` those from it. */
export class ForkedChild<Down extends Calls, Up extends Calls> {
  /** Resolves when the child is ready to work; rejects with a reason of one line if it cannot start. */
  readonly ready: Promise<void>;
  /** Resolves when the process has ended, with its signal or exit code as text. */
  readonly ended: Promise<string>;
  private readonly process: ChildProcess;
  private readonly channel: CallChannel<Down, Up>;

  /** `name` is the child's name in the reason why it did not start. */
  constructor(
    name: string,
    program: ChildProgram,
    answer: (call: Up['call']) => Promise<Up['answer']>,
  ) {
    const { modulePath, args, options } = program;
    this.process = fork(modulePath, [...args], { ...options, serialization: 'advanced' });
    living.add(this.process);
    this.channel = new CallChannel({ send: (message) => this.send(message), answer });
    this.ended = this.awaitEnd();
    this.ready = this.awaitReady(name);
    this.process.on('message', (message: MessageToParent) => {
      if (message.kind === 'call' || message.kind === 'answer') this.channel.receive(message);
    });
  }

  /** Returns the child's answer; undefined if the child ends first. Rejects if the call cannot be copied. */
  call(call: Down['call']): Promise<Down['answer'] | undefined> {
    return this.channel.call(call);
  }

  /** Lets the child finish its work, and resolves when it has ended; false if it had to be killed. */
  async stop(waitMsMax: number): Promise<boolean> {
    let isInTime = true;
    const timer = setTimeout(() => {
      isInTime = false;
      this.kill();
    }, waitMsMax);
    this.send({ kind: 'stop' });
    await this.ended;
    clearTimeout(timer);
    return isInTime;
  }

  kill(): void {
    this.process.kill('SIGKILL');
  }

  private awaitEnd(): Promise<string> {
    const ended = new Promise<string>((resolve) => {
      this.process.once('exit', (code, signal) => {
        const how = signal ?? `code ${code}`;
        // The last messages of the process, such as why it cannot start, may still be in the channel.
        if (this.process.connected) this.process.once('disconnect', () => resolve(how));
        else resolve(how);
      });
      this.process.on('error', (error) => {
        // Without an id the process never started. A process that did start also reports `exit`.
        if (this.process.pid === undefined) resolve(error.message);
      });
    });
    return ended.then((how) => {
      living.delete(this.process);
      this.channel.close();
      return how;
    });
  }

  private awaitReady(name: string): Promise<void> {
    const ready = new Promise<void>((resolve, reject) => {
      this.process.on('message', (message: MessageToParent) => {
        if (message.kind === 'ready') resolve();
        if (message.kind === 'refused') reject(new Error(message.reason));
      });
      void this.ended.then((how) =>
        reject(new Error(`${name} ended before it was ready (${how})`)),
      );
    });
    // A caller may wait for `ended` only; then this rejection must not count as unhandled.
    ready.catch(() => undefined);
    return ready;
  }

  /** Sends a message. A process that is ending misses it; its end resolves the unanswered calls. */
  private send(message: MessageToChild): void {
    if (!this.process.connected) return;
    this.process.send(message, (error) => {
      if (error !== null) this.kill();
    });
  }
}

// Messages between a child process and its parent. Each end may call the other and answers its calls; the
// child reports the result of its start, and the parent asks it to stop.

type CallMessage = {
  readonly kind: 'call';
  readonly id: number;
  readonly call: unknown;
};

type AnswerMessage = {
  readonly kind: 'answer';
  readonly id: number;
  readonly answer: unknown;
};

type MessageToChild =
  | CallMessage
  | AnswerMessage
  /** Asks the child to finish its work and end. */
  | { readonly kind: 'stop' };

type MessageToParent =
  | CallMessage
  | AnswerMessage
  /** The child is ready to work. */
  | { readonly kind: 'ready' }
  /** The child cannot start and ends; the reason is one line. */
  | { readonly kind: 'refused'; readonly reason: string };

// The child's end of the channel to its parent. The child ends when its parent asks for it, or at once when
// the parent is gone. It ignores signals to the process group (Ctrl-C, a service manager), because the parent
// decides when and in which order its children end.

type ChildWork<Down extends Calls> = {
  /** Starts the work; rejects with a reason of one line if it cannot. */
  readonly start: () => Promise<void>;
  /** Finishes the work in flight; may be called while `start` runs. The process ends after it. */
  readonly stop: () => Promise<void>;
  /** Answers the parent's calls, also while `start` runs. */
  readonly answer: (call: Down['call']) => Promise<Down['answer']>;
};

/** Link to the parent. `Down` are the calls from the parent, `Up` those to it. */
export class ParentLink<Down extends Calls, Up extends Calls> {
  private readonly channel: CallChannel<Up, Down>;

  /** Ends the process if no parent started it, or if the parent is gone already. */
  constructor(private readonly work: ChildWork<Down>) {
    if (process.send === undefined) {
      process.stderr.write('sluice: this part of the service is started by the service itself\n');
      process.exit(2);
    }
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => undefined);
    process.on('disconnect', () => process.exit(0));
    if (!process.connected) process.exit(0);
    this.channel = new CallChannel({
      send: (message) => void this.send(message),
      answer: work.answer,
    });
  }

  /** Starts the work and reports the result to the parent. A failed start ends the process. */
  async run(): Promise<void> {
    process.on('message', (message: MessageToChild) => {
      if (message.kind === 'stop') void this.stop();
      else this.channel.receive(message);
    });
    try {
      await this.work.start();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      await this.send({ kind: 'refused', reason });
      process.exit(1);
    }
    await this.send({ kind: 'ready' });
  }

  /** Returns the parent's answer. */
  call(call: Up['call']): Promise<Up['answer'] | undefined> {
    return this.channel.call(call);
  }

  private async stop(): Promise<void> {
    await this.work.stop();
    process.exit(0);
  }

  /** Sends a message; resolves when it is written, or when the parent is gone. */
  private send(message: MessageToParent): Promise<void> {
    return new Promise((resolve) => {
      if (!process.connected || process.send === undefined) return resolve();
      process.send(message, undefined, undefined, () => resolve());
    });
  }
}
