// Form that the benchmarks of this folder have in common.

import type { Report, Row } from '../measure/report.ts';
import type { FleetSettings } from './fleet/fleet-settings.ts';

type RunOptions = {
  /** Whether to run for a moment only, to see that it works. */
  readonly isSmoke: boolean;
  /** Beginning of the names of the scenarios to run, where there are several; empty for all. */
  readonly scenario: string;
  /** Fleet to play; the usual one when absent. */
  readonly fleet?: FleetSettings;
  /** Branch, tag or commit to measure beside the present tree; none when absent. */
  readonly against?: string;
};

export type Benchmark = {
  readonly name: string;
  readonly title: string;
  /** Lines on how to read the table. */
  readonly explanation: readonly string[];
  run(options: RunOptions): Promise<readonly Row[] | Report>;
};
