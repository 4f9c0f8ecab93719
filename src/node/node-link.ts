// What a process asks of the process that started it, for the node as a whole. Every question has a limit of
// time and of number, so that a supervisor that hangs holds up nothing.

import { SharedCall } from '../flow/shared-call.ts';
import { SoleCall } from '../flow/sole-call.ts';
import { withinTime } from '../flow/within-time.ts';
import type { ParentLink } from '../process/parent-link.ts';
import type { CallsToProcess, CallsToSupervisor, ProcessReadiness } from './calls-to-process.ts';

/** Longest wait for an answer: twice the time that the supervisor gives the processes that it asks. */
const SUM_MS_MAX = 1000;
const READINESS_MS_MAX = 2000;
const NEWS_MS_MAX = 2000;
/** Maximum number of news without an answer. */
const UNTOLD_MAX = 100;
const NO_ANSWER: ProcessReadiness = { obstacle: 'the supervisor does not answer', degraded: [] };

export class NodeLink {
  private readonly link: ParentLink<CallsToProcess, CallsToSupervisor>;
  private readonly sole: Readonly<
    Record<'sum' | 'readiness', SoleCall<CallsToSupervisor['answer']>>
  >;
  private readonly summing = new SharedCall(() => this.ask('sum', SUM_MS_MAX));
  private readonly probing = new SharedCall(() => this.ask('readiness', READINESS_MS_MAX));
  private untold = 0;

  constructor(link: ParentLink<CallsToProcess, CallsToSupervisor>) {
    this.link = link;
    this.sole = {
      sum: new SoleCall(() => link.call('sum')),
      readiness: new SoleCall(() => link.call('readiness')),
    };
  }

  /** Reads the metrics of all processes of the node, as text; undefined when they do not come in time. */
  async metrics(): Promise<string | undefined> {
    const answer = await this.summing.ask();
    return typeof answer === 'string' ? answer : undefined;
  }

  /** Reads whether a serving process of the node can decide. */
  async readiness(): Promise<ProcessReadiness> {
    const answer = await this.probing.ask();
    return typeof answer === 'object' && 'obstacle' in answer ? answer : NO_ANSWER;
  }

  /** Reads the settings that every process of the node uses now, for a process that starts. */
  async settings(): Promise<unknown> {
    const answer = await this.link.call('settings');
    return typeof answer === 'object' && 'settings' in answer ? answer.settings : undefined;
  }

  /** Tells the serving processes news; resolves when they count there, or after a limit of time. */
  async tell(news: unknown): Promise<void> {
    if (this.untold >= UNTOLD_MAX) return;
    this.untold += 1;
    const told = this.link.call({ news }).finally(() => {
      this.untold -= 1;
    });
    await withinTime(told, NEWS_MS_MAX);
  }

  private ask(call: 'sum' | 'readiness', waitMsMax: number): Promise<CallsToSupervisor['answer']> {
    return this.sole[call].ask(waitMsMax);
  }
}
