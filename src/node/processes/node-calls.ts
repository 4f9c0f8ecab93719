// Calls between the processes of a node: readiness, metrics, settings and changes. Also starts the background
// process and checks that the port is free.

import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { SharedCall, SoleCall } from '../../flow/shared-call.ts';
import { withinTime } from '../../flow/within-time.ts';
import type { EngineName } from '../../http/transport/engine.ts';
import { portFault } from '../../http/transport/port-fault.ts';
import { joinMetrics } from '../../observe/join-metrics.ts';
import type { Log } from '../../observe/log.ts';
import type { Metrics } from '../../observe/metrics.ts';
import type { ParentLink } from '../../process/child-process.ts';
import {
  type CallsToProcess,
  type CallsToSupervisor,
  type ProcessReadiness,
  type Settings,
  SupervisedProcess,
} from './supervised-process.ts';

/** Longest wait for a process to say whether it can decide. */
const READINESS_MS_MAX = 1000;
/** Longest wait for a process to serve a change; a slower one also finds the change by polling. */
const NOTIFICATION_MS_MAX = 1000;
const NONE_READY: ProcessReadiness = { obstacle: 'no serving process answers', degraded: [] };

export class NodeCalls {
  private readonly serving: SupervisedProcess[] = [];

  constructor(
    private readonly nodeMetrics: NodeMetrics,
    readonly settings: NodeSettings,
  ) {}

  /** Adds serving processes. */
  include(...serving: readonly SupervisedProcess[]): void {
    this.serving.push(...serving);
  }

  /** Answers a call of a process. Never rejects. */
  async answer(call: CallsToSupervisor['call']): Promise<CallsToSupervisor['answer']> {
    if (call === 'sum') return this.nodeMetrics.text();
    if (call === 'readiness') return this.readReadiness();
    if (call === 'settings') return this.settings.present;
    await Promise.all(this.serving.map((each) => each.tell(call, NOTIFICATION_MS_MAX)));
    return undefined;
  }

  /** Returns as soon as one process is ready, because then the node is ready, too. */
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
      // The answer of one process is more informative than the silence of another.
      return told.find((answer) => answer !== NONE_READY) ?? NONE_READY;
    }
  }
}

/** Rejection for a process that cannot decide. */
class NotReady extends Error {
  readonly answer: ProcessReadiness;

  constructor(answer: ProcessReadiness) {
    super('not ready');
    this.answer = answer;
  }
}

/** Longest stop. The process may leave check-ins unrecorded: another one takes them over. */
const STOP_MS_MAX = 2000;

/**
 * Starts the background process and returns at once, because the service can serve without it. A failed start
 * is logged and retried.
 */
export function startBackgroundProcess(
  log: Log,
  metrics: Metrics,
  nodeMetrics: NodeMetrics,
  calls: NodeCalls,
  engine: EngineName,
): SupervisedProcess {
  const background = new SupervisedProcess({
    name: 'background',
    args: ['--background', engine],
    stopMsMax: STOP_MS_MAX,
    log,
    metrics,
    answer: (call) => calls.answer(call),
  });
  nodeMetrics.include(background);
  calls.settings.include(background);
  background.start().catch((error: unknown) => {
    log.error({ err: error }, 'the background process could not start; it is tried again');
  });
  return background;
}

/**
 * Checks that a port is free, because a second service would silently share it and get half of the traffic.
 * Returns the port, or a free one for 0; rejects when it is in use or the host is not this machine's. The
 * check occupies the port only while it runs; afterwards the first process that listens does.
 */
export async function claimPort(host: string, port: number): Promise<number> {
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, 'listening');
  } catch (error) {
    throw new Error(portFault(host, port, error), { cause: error });
  }
  const claimed = (server.address() as AddressInfo).port;
  server.close();
  await once(server, 'close');
  return claimed;
}

// Calls of a process to the supervisor, with limits of time and number, so that a hung supervisor blocks
// nothing.

/** Longest waits for an answer: twice as long as the supervisor waits for the processes that it calls. */
const SUM_MS_MAX = 1000;
const LINK_MS_MAX = 2000;
/** Maximum number of unanswered notifications. */
const UNANSWERED_MAX = 100;
const NO_ANSWER: ProcessReadiness = { obstacle: 'the supervisor does not answer', degraded: [] };

export class NodeLink {
  private readonly sole: Readonly<
    Record<'sum' | 'readiness', SoleCall<CallsToSupervisor['answer']>>
  >;
  private readonly summing = new SharedCall(() => this.ask('sum', SUM_MS_MAX));
  private readonly probing = new SharedCall(() => this.ask('readiness', LINK_MS_MAX));
  private unanswered = 0;

  constructor(private readonly link: ParentLink<CallsToProcess, CallsToSupervisor>) {
    this.sole = {
      sum: new SoleCall(() => link.call('sum')),
      readiness: new SoleCall(() => link.call('readiness')),
    };
  }

  /** Reads the metrics of all processes of the node as text; undefined if they do not come in time. */
  async metrics(): Promise<string | undefined> {
    const answer = await this.summing.ask();
    return typeof answer === 'string' ? answer : undefined;
  }

  /** Reads whether a serving process of the node can decide. */
  async readiness(): Promise<ProcessReadiness> {
    const answer = await this.probing.ask();
    return typeof answer === 'object' && 'obstacle' in answer ? answer : NO_ANSWER;
  }

  /** Reads the present settings of the node, for a process that starts. */
  async settings(): Promise<unknown> {
    const answer = await this.link.call('settings');
    return typeof answer === 'object' && 'settings' in answer ? answer.settings : undefined;
  }

  /** Sends a change to the serving processes; resolves when they serve it, or after a time limit. */
  async tell(notification: unknown): Promise<void> {
    if (this.unanswered >= UNANSWERED_MAX) return;
    this.unanswered += 1;
    const told = this.link.call({ notification }).finally(() => {
      this.unanswered -= 1;
    });
    await withinTime(told, LINK_MS_MAX);
  }

  private ask(call: 'sum' | 'readiness', waitMsMax: number): Promise<CallsToSupervisor['answer']> {
    return this.sole[call].ask(waitMsMax);
  }
}

// Metrics of a node with several processes: read from each process and joined at each scrape.

/** Longest wait for the metrics of a process; a slower one is left out and counted as silent. */
const ANSWER_MS_MAX = 500;

export class NodeMetrics {
  private readonly processes: SupervisedProcess[] = [];
  private readonly collecting = new SharedCall(() => this.collect());

  /** `own` are the metrics of this process, the parent of the others. */
  constructor(
    private readonly own: Metrics,
    private readonly log: Log,
  ) {
    own.gauge('sluice_processes', 'Processes of this node, this one included', () => {
      return 1 + this.processes.filter(({ isAlive }) => isAlive).length;
    });
  }

  /** Adds processes to the metrics. */
  include(...processes: readonly SupervisedProcess[]): void {
    this.processes.push(...processes);
  }

  /** Returns Prometheus text; undefined if the metrics cannot be joined. Never rejects. */
  text(): Promise<string | undefined> {
    return this.collecting.ask();
  }

  private async collect(): Promise<string | undefined> {
    try {
      const answers = await Promise.all(
        this.processes.map((each) => each.readMetrics(ANSWER_MS_MAX)),
      );
      const answered = answers.filter((metrics) => metrics !== undefined);
      if (answered.length < answers.length) {
        this.own.processes.add('silent', answers.length - answered.length);
      }
      return await joinMetrics([await this.own.registry.getMetricsAsJSON(), ...answered]);
    } catch (error) {
      this.log.error({ err: error }, 'the figures could not be joined');
      return undefined;
    }
  }
}

// Settings that change while a node runs. The process that gets the operator's signal reads the files, and
// sends the settings to every other process, even one that starts later, so that all use the same.

/** Longest wait for a process to use new settings. */
const SETTINGS_MS_MAX = 5000;

export class NodeSettings {
  private readonly processes: Pick<SupervisedProcess, 'tell'>[] = [];
  private held: Settings;

  constructor(settings: unknown) {
    this.held = { settings };
  }

  /** Present settings of the node. */
  get present(): Settings {
    return this.held;
  }

  /** Adds processes that get changes of the settings. */
  include(...processes: readonly Pick<SupervisedProcess, 'tell'>[]): void {
    this.processes.push(...processes);
  }

  /** Replaces the settings; resolves when every process uses them, or after a time limit. */
  async replace(settings: unknown): Promise<void> {
    const held = { settings };
    this.held = held;
    await Promise.all(this.processes.map((each) => each.tell(held, SETTINGS_MS_MAX)));
  }
}
