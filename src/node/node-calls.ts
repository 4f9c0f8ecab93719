// Answers to the calls that the processes of a node make to the process that started them.

import type { CallsToSupervisor, ProcessReadiness } from './calls-to-process.ts';
import type { NodeMetrics } from './node-metrics.ts';
import type { NodeSettings } from './node-settings.ts';
import type { KeptProcess } from './supervised-process.ts';

/** Longest wait for a process to tell whether it can decide. */
const READINESS_MS_MAX = 1000;
/** Longest wait for a process to serve what it was told; one that takes longer finds it by its poll. */
const NEWS_MS_MAX = 1000;
const NONE_READY: ProcessReadiness = { obstacle: 'no serving process answers', degraded: [] };

export class NodeCalls {
  readonly settings: NodeSettings;
  private readonly nodeMetrics: NodeMetrics;
  private readonly serving: KeptProcess[] = [];

  constructor(nodeMetrics: NodeMetrics, settings: NodeSettings) {
    this.settings = settings;
    this.nodeMetrics = nodeMetrics;
  }

  /** Adds processes that serve devices. */
  include(...serving: readonly KeptProcess[]): void {
    this.serving.push(...serving);
  }

  /** Answers a call. Never rejects. */
  async answer(call: CallsToSupervisor['call']): Promise<CallsToSupervisor['answer']> {
    if (call === 'sum') return this.nodeMetrics.text();
    if (call === 'readiness') return this.readReadiness();
    if (call === 'settings') return this.settings.present;
    await Promise.all(this.serving.map((each) => each.tell(call, NEWS_MS_MAX)));
    return undefined;
  }

  /** Returns as soon as one process is ready; the node then is, whatever the others do. */
  private async readReadiness(): Promise<ProcessReadiness> {
    const asked = this.serving.map(async (each) => {
      const answer = (await each.readReadiness(READINESS_MS_MAX)) ?? NONE_READY;
      if (answer.obstacle !== undefined) throw new NotReady(answer);
      return answer;
    });
    try {
      return await Promise.any(asked);
    } catch (error) {
      const reasons = error instanceof AggregateError ? error.errors : [];
      const told = reasons.flatMap((each) => (each instanceof NotReady ? [each.answer] : []));
      // What a process says of itself tells more than its silence.
      return told.find((answer) => answer !== NONE_READY) ?? NONE_READY;
    }
  }
}

/** Rejection of a process that cannot decide. */
class NotReady extends Error {
  readonly answer: ProcessReadiness;

  constructor(answer: ProcessReadiness) {
    super('not ready');
    this.answer = answer;
  }
}
