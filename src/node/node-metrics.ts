// Metrics of a node of several processes: the metrics of each are read and joined when they are scraped.

import { SharedCall } from '../flow/shared-call.ts';
import { joinMetrics } from '../observe/join-metrics.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { KeptProcess } from './supervised-process.ts';

/** Longest wait for the metrics of a process; one that takes longer is left out, and counted. */
const ANSWER_MS_MAX = 500;

export class NodeMetrics {
  private readonly own: Metrics;
  private readonly log: Log;
  private readonly processes: KeptProcess[] = [];
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
  include(...processes: readonly KeptProcess[]): void {
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
