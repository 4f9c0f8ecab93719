// End of the channel in the child process, to the process that started it.
//
// The child ends when its parent tells it to, or at once when the parent is gone. It ignores signals to the
// process group (Ctrl-C, a service manager), because the parent decides when its children end, and in which
// order.

import { CallChannel } from './call-channel.ts';
import type { Calls } from './calls.ts';
import type { MessageToChild, MessageToParent } from './message.ts';

export type ChildWork<Down extends Calls> = {
  /** Starts the work; rejects, with a reason of one line, when that is not possible. */
  readonly start: () => Promise<void>;
  /** Finishes the work in flight; it may be called while `start` runs. The process ends after it. */
  readonly stop: () => Promise<void>;
  /** Answers the parent's calls, also while `start` runs. */
  readonly answer: (call: Down['call']) => Promise<Down['answer']>;
};

/** Link to the parent. `Down` are the calls that the parent makes, `Up` those to it. */
export class ParentLink<Down extends Calls, Up extends Calls> {
  private readonly work: ChildWork<Down>;
  private readonly channel: CallChannel<Up, Down>;

  /** Ends the process when it was not started by a parent, or when the parent is gone already. */
  constructor(work: ChildWork<Down>) {
    if (process.send === undefined) {
      process.stderr.write('sluice: this part of the service is started by the service itself\n');
      process.exit(2);
    }
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => undefined);
    process.on('disconnect', () => process.exit(0));
    if (!process.connected) process.exit(0);
    this.work = work;
    this.channel = new CallChannel({
      send: (message) => void this.send(message),
      answer: work.answer,
    });
  }

  /**
   * Starts the work and reports to the parent that it has started. A failed start is reported and ends the
   * process.
   */
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
