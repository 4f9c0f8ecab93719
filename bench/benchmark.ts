// Declaration of a benchmark: its name, what it measures in a line, its options, and the run itself.

import { InvalidArgumentError, Option } from 'commander';
import type { Report } from './report.ts';

export type Given = {
  readonly isSmoke: boolean;
  /** Branch, tag or commit after the name of the benchmark. */
  readonly ref?: string | undefined;
  /** Values of the benchmark's own options, by their names in camel case. */
  readonly options: Readonly<Record<string, unknown>>;
};

export type Benchmark = {
  readonly name: string;
  readonly title: string;
  /** Argument after the name; a benchmark that needs one is not among those that run without a name. */
  readonly argument?: '<ref>' | '[ref]';
  readonly options?: readonly Option[];
  readonly reading: readonly string[];
  run(given: Given): Promise<Report>;
};

/** Reason, in a line, why what the command line asks for is not begun. */
export class Refusal extends Error {}

/** Option with a whole number from `least` to `most`. */
export function numberOption(flags: string, help: string, least: number, most: number): Option {
  return new Option(flags, `${help}; ${least} to ${most}`).argParser((text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  });
}
