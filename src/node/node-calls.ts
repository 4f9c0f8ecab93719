// Calls between the processes of a node: what each asks the supervisor (the port, readiness, metrics,
// changes), and the background process.

import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { SharedCall } from '../flow/shared-call.ts';
import { SoleCall } from '../flow/sole-call.ts';
import { withinTime } from '../flow/within-time.ts';
import { joinMetrics } from '../observe/join-metrics.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { ParentLink } from '../process/child-process.ts';
import {
  type CallsToProcess,
  type CallsToSupervisor,
  type ProcessReadiness,
  type Settings,
  SupervisedProcess,
} from './supervised-process.ts';

/** Longest wait for a process to tell whether it can decide. */
const READINESS_MS_MAX = 1000;
/** Longest wait for a process to serve what it was told; one that takes longer finds it by its poll. */
const NOTIFICATION_MS_MAX = 1000;
const NONE_READY: ProcessReadiness = { obstacle: 'no serving process answers', degraded: [] };

export class NodeCalls {
  readonly settings: NodeSettings;
  private readonly nodeMetrics: NodeMetrics;
  private readonly serving: SupervisedProcess[] = [];

  constructor(nodeMetrics: NodeMetrics, settings: NodeSettings) {
    this.settings = settings;
    this.nodeMetrics = nodeMetrics;
  }

  /** Adds processes that serve devices. */
  include(...serving: readonly SupervisedProcess[]): void {
    this.serving.push(...serving);
  }

  /** Answers a call. Never rejects. */
  async answer(call: CallsToSupervisor['call']): Promise<CallsToSupervisor['answer']> {
    if (call === 'sum') return this.nodeMetrics.text();
    if (call === 'readiness') return this.readReadiness();
    if (call === 'settings') return this.settings.present;
    await Promise.all(this.serving.map((each) => each.tell(call, NOTIFICATION_MS_MAX)));
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

// Starts the background process of the service.

/**
 * Longest stop. The process has no work that it must finish: another one takes over check-ins that it took
 * and did not record.
 */
const STOP_MS_MAX = 2000;

/**
 * Starts the process and returns at once, because the service can serve without it. A start that fails is
 * logged and tried again.
 */
export function startBackgroundProcess(
  log: Log,
  metrics: Metrics,
  nodeMetrics: NodeMetrics,
  calls: NodeCalls,
): SupervisedProcess {
  const background = new SupervisedProcess({
    name: 'background',
    args: ['--background'],
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

// Check that a port is free, before several processes of the service share it. Without the check, a second
// service that shares the port would silently get half of the traffic.

/**
 * Returns the port, or a free one for 0. Rejects when the port is in use or the host is no address of this
 * machine. The port is held only during the check; afterwards, the first process that listens on it keeps
 * other services from it.
 */
export async function claimPort(host: string, port: number): Promise<number> {
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, 'listening');
  } catch (error) {
    const reason = `cannot listen on ${host}:${port}, which is in use or not of this machine`;
    throw new Error(reason, { cause: error });
  }
  const claimed = (server.address() as AddressInfo).port;
  server.close();
  await once(server, 'close');
  return claimed;
}

// What a process asks of the process that started it, for the node as a whole. Every question has a limit of
// time and of number, so that a supervisor that hangs holds up nothing.

/** Longest wait for an answer: twice the time that the supervisor gives the processes that it asks. */
const SUM_MS_MAX = 1000;
const NODE_LINK_READINESS_MS_MAX = 2000;
const NODE_LINK_NOTIFICATION_MS_MAX = 2000;
/** Maximum number of notifications without an answer. */
const UNANSWERED_MAX = 100;
const NO_ANSWER: ProcessReadiness = { obstacle: 'the supervisor does not answer', degraded: [] };

export class NodeLink {
  private readonly link: ParentLink<CallsToProcess, CallsToSupervisor>;
  private readonly sole: Readonly<
    Record<'sum' | 'readiness', SoleCall<CallsToSupervisor['answer']>>
  >;
  private readonly summing = new SharedCall(() => this.ask('sum', SUM_MS_MAX));
  private readonly probing = new SharedCall(() =>
    this.ask('readiness', NODE_LINK_READINESS_MS_MAX),
  );
  private unanswered = 0;

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

  /** Tells the serving processes of a change; resolves when they count there, or after a limit of time. */
  async tell(notification: unknown): Promise<void> {
    if (this.unanswered >= UNANSWERED_MAX) return;
    this.unanswered += 1;
    const told = this.link.call({ notification }).finally(() => {
      this.unanswered -= 1;
    });
    await withinTime(told, NODE_LINK_NOTIFICATION_MS_MAX);
  }

  private ask(call: 'sum' | 'readiness', waitMsMax: number): Promise<CallsToSupervisor['answer']> {
    return this.sole[call].ask(waitMsMax);
  }
}

// Metrics of a node of several processes: the metrics of each are read and joined when they are scraped.

/** Longest wait for the metrics of a process; one that takes longer is left out, and counted. */
const ANSWER_MS_MAX = 500;

export class NodeMetrics {
  private readonly own: Metrics;
  private readonly log: Log;
  private readonly processes: SupervisedProcess[] = [];
  private readonly collecting = new SharedCall(() => this.collect());

  /** `own` are the metrics of this process, which starts the others. */
  constructor(own: Metrics, log: Log) {
    this.own = own;
    this.log = log;
    own.gauge('sluice_processes', 'Processes of this node, this one included', () => {
      return 1 + this.processes.filter(({ isAlive }) => isAlive).length;
    });
  }

  /** Adds processes whose metrics count from now on. */
  include(...processes: readonly SupervisedProcess[]): void {
    this.processes.push(...processes);
  }

  /** Returns Prometheus text; undefined when the metrics cannot be joined. Never rejects. */
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

// Settings that change while a node runs. The process that an operator signals reads them, and every other
// process gets them from it, also one that starts later: so all use the same ones, whatever lies in the
// files.

/** Longest wait for a process to use what it was told. */
const SETTINGS_MS_MAX = 5000;

export class NodeSettings {
  private readonly processes: Pick<SupervisedProcess, 'tell'>[] = [];
  private held: Settings;

  constructor(settings: unknown) {
    this.held = { settings };
  }

  /** Settings that every process of the node uses now. */
  get present(): Settings {
    return this.held;
  }

  /** Adds processes that are told of changes. */
  include(...processes: readonly Pick<SupervisedProcess, 'tell'>[]): void {
    this.processes.push(...processes);
  }

  /** Replaces the settings; resolves when every process uses them, or after a limit of time. */
  async replace(settings: unknown): Promise<void> {
    const held = { settings };
    this.held = held;
    await Promise.all(this.processes.map((each) => each.tell(held, SETTINGS_MS_MAX)));
  }
}
