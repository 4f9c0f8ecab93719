// One child process from its start to its end, as the process that forked it sees it.
//
//   starting ──ready──▶ working ──▶ ended      A process that refuses to start, that is killed, or whose
//       └──refused / killed / crashed──▲       parent is gone ends in every state.

import { type ChildProcess, type ForkOptions, fork } from 'node:child_process';
import { CallChannel } from './call-channel.ts';
import type { Calls } from './calls.ts';
import type { MessageToChild, MessageToParent } from './message.ts';

export type ChildProgram = {
  readonly modulePath: string;
  readonly args: readonly string[];
  /** Flags, environment and streams of the process. */
  readonly options: Pick<ForkOptions, 'execArgv' | 'env' | 'stdio'>;
};

/** Child process. `Down` are the calls to the child, `Up` those that it makes. */
export class ForkedChild<Down extends Calls, Up extends Calls> {
  /** Resolves when the child is ready to work; rejects, with the reason in one line, when it cannot start. */
  readonly ready: Promise<void>;
  /** Resolves when the process has ended, with its signal or exit code as text. */
  readonly ended: Promise<string>;
  private readonly process: ChildProcess;
  private readonly channel: CallChannel<Down, Up>;

  /** `name` names the child in the reason why it did not start. */
  constructor(
    name: string,
    program: ChildProgram,
    answer: (call: Up['call']) => Promise<Up['answer']>,
  ) {
    const { modulePath, args, options } = program;
    this.process = fork(modulePath, [...args], { ...options, serialization: 'advanced' });
    this.channel = new CallChannel({ send: (message) => this.send(message), answer });
    this.ended = this.awaitEnd();
    this.ready = this.awaitReady(name);
    this.process.on('message', (message: MessageToParent) => {
      if (message.kind === 'call' || message.kind === 'answer') this.channel.receive(message);
    });
  }

  /**
   * Returns the child's answer; undefined when the child ends first. Rejects if the call cannot be copied to
   * it.
   */
  call(call: Down['call']): Promise<Down['answer'] | undefined> {
    return this.channel.call(call);
  }

  /** Lets the child finish its work, and resolves when it has ended; false when it had to be killed. */
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
    // A caller may wait for `ended` only, which tells the same; the rejection must not count as unhandled
    // then.
    ready.catch(() => undefined);
    return ready;
  }

  /** Sends a message. One to a process that is ending is lost; its end resolves the unanswered calls. */
  private send(message: MessageToChild): void {
    if (!this.process.connected) return;
    this.process.send(message, (error) => {
      if (error !== null) this.kill();
    });
  }
}
