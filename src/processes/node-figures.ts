// The metrics of a node that is several processes: those of each, asked for at scrape time and added up.

import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { sumFigures } from '../observe/sum-figures.ts';
import type { KeptProcess } from './kept-process.ts';
import { SharedCall } from './shared-call.ts';

/** A process that is busy for longer than this is left out of the sum, and counted. */
const ANSWER_MS_MAX = 500;

export class NodeFigures {
  private readonly own: Metrics;
  private readonly log: Log;
  private readonly processes: KeptProcess[] = [];
  private readonly collecting = new SharedCall(() => this.collect());

  /** `own` are the figures of this process, which starts the others. */
  constructor(own: Metrics, log: Log) {
    this.own = own;
    this.log = log;
    own.gauge('sluice_processes', 'Processes of this node, this one included', () => {
      return 1 + this.processes.filter(({ isAlive }) => isAlive).length;
    });
  }

  /** From now on the figures of these count too. */
  include(...processes: readonly KeptProcess[]): void {
    this.processes.push(...processes);
  }

  /** Prometheus text; undefined when the figures cannot be added up. Never rejects. */
  text(): Promise<string | undefined> {
    return this.collecting.ask();
  }

  private async collect(): Promise<string | undefined> {
    try {
      const answers = await Promise.all(this.processes.map((each) => each.figures(ANSWER_MS_MAX)));
      const told = answers.filter((figures) => figures !== undefined);
      if (told.length < answers.length) {
        this.own.processes.add('silent', answers.length - told.length);
      }
      return await sumFigures([await this.own.registry.getMetricsAsJSON(), ...told]);
    } catch (error) {
      this.log.error({ err: error }, 'the figures could not be added up');
      return undefined;
    }
  }
}
