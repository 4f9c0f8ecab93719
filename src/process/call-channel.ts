// One end of a channel on which two processes call each other. Answers are matched to calls by number.

import type { Calls } from './calls.ts';
import type { AnswerMessage, CallMessage } from './message.ts';

export type CallChannelOptions<In extends Calls> = {
  /** Throws when a message cannot be copied to the other process. */
  readonly send: (message: CallMessage | AnswerMessage) => void;
  /** Answers a call of the other end. */
  readonly answer: (call: In['call']) => Promise<In['answer']>;
};

/** End of a channel. `Out` are the calls that it makes, `In` those that it answers. */
export class CallChannel<Out extends Calls, In extends Calls> {
  private readonly options: CallChannelOptions<In>;
  /**
   * Resolvers of the unanswered calls, by call id. Callers bound their number, as they make few calls at a
   * time.
   */
  private readonly pending = new Map<number, (answer: Out['answer'] | undefined) => void>();
  private lastId = 0;
  private isClosed = false;

  constructor(options: CallChannelOptions<In>) {
    this.options = options;
  }

  /**
   * Returns the other end's answer; undefined when that end closes first. Rejects if the call cannot be
   * copied.
   */
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
