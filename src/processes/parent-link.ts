// A process's end of the channel to the one that started it.

import type { Metrics } from '../observe/metrics.ts';
import type { MessageToChild, MessageToParent } from './message.ts';
import { SharedCall } from './shared-call.ts';

/** Twice what the other side gives the processes that it asks. */
const SUM_MS_MAX = 1000;

export type ParentLinkOptions = {
  readonly metrics: Metrics;
  /** Called when this process shall take no new connections any more. */
  readonly onClose: () => void;
  /** Called when this process shall finish what is in flight and end. */
  readonly onStop: () => void;
};

export class ParentLink {
  private readonly options: ParentLinkOptions;
  private readonly summing = new SharedCall(() => this.askSum());
  private lastQuestion = 0;
  /** Whether the sum was asked for and has not come yet, be it too late. */
  private isSumDue = false;
  private answer: ((id: number, text: string | undefined) => void) | undefined;

  constructor(options: ParentLinkOptions) {
    this.options = options;
    process.on('message', (message: MessageToChild) => this.receive(message));
  }

  /** Tells that the work has begun. */
  ready(): void {
    void this.send({ kind: 'ready' });
  }

  /** Tells why this process cannot start; resolves once that is written. */
  refuse(reason: string): Promise<void> {
    return this.send({ kind: 'refused', reason });
  }

  /** The figures of all processes of the node, as text; undefined when nobody tells them. Never rejects. */
  figures(): Promise<string | undefined> {
    return this.summing.ask();
  }

  private async askSum(): Promise<string | undefined> {
    // Of one that hangs nothing more is asked: the questions would pile up.
    if (this.isSumDue) return undefined;
    this.isSumDue = true;
    const question = ++this.lastQuestion;
    let timer: NodeJS.Timeout | undefined;
    const text = await new Promise<string | undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), SUM_MS_MAX);
      this.answer = (id, sum) => {
        if (id === question) resolve(sum);
      };
      void this.send({ kind: 'sum', id: question });
    });
    clearTimeout(timer);
    return text;
  }

  private receive(message: MessageToChild): void {
    if (message.kind === 'stop') {
      this.options.onStop();
    } else if (message.kind === 'sum') {
      this.isSumDue = false;
      this.answer?.(message.id, message.text);
    } else if (message.kind === 'close') {
      this.options.onClose();
      void this.send({ kind: 'closed', id: message.id });
    } else {
      void this.tellFigures(message.id);
    }
  }

  private async tellFigures(id: number): Promise<void> {
    await this.send({
      kind: 'figures',
      id,
      figures: await this.options.metrics.registry.getMetricsAsJSON(),
    });
  }

  /** Resolves when the message is written, or there is nobody any more to read it. */
  private send(message: MessageToParent): Promise<void> {
    return new Promise((resolve) => {
      if (!process.connected || process.send === undefined) return resolve();
      process.send(message, undefined, undefined, () => resolve());
    });
  }
}
