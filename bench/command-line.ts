// Reads the arguments of `npm run bench --`: which benchmarks, scenarios or comparison to run.

import { parseArgs } from 'node:util';
import { readTargetSettings, type TargetSettings } from './suite/check/target-settings.ts';
import { type FleetSettings, readFleetSettings } from './suite/fleet/fleet-settings.ts';

/** Names that the command line may choose from. */
export type Choices = {
  readonly benchmarks: readonly string[];
  readonly scenarios: readonly string[];
};

export type Command = {
  /** Names of the benchmarks to run; empty with a target or a reference. */
  readonly benchmarks: readonly string[];
  /** Running service to load instead. */
  readonly target?: TargetSettings;
  /** Fleet to play, where it is not the usual one. */
  readonly fleet?: FleetSettings;
  /** Branch, tag or commit to compare the present tree with instead. */
  readonly ref?: string;
  /** Whether the present tree answers on an edge in that comparison. */
  readonly isOnEdge?: boolean;
  /** Branch, tag or commit that `drain` measures beside the present tree. */
  readonly against?: string;
  readonly isSmoke: boolean;
  /** Beginning of the names of the scenarios to run; empty for all. */
  readonly scenario: string;
  /** File for the results as JSON. */
  readonly json?: string;
};

/** Benchmark that has scenarios and may load a target. */
const CHECK = 'check';
/** Benchmark whose size may be chosen. */
const FLEET = 'fleet';
/** Benchmark that may measure another commit beside the present tree. */
const DRAIN = 'drain';
/** Word that begins a comparison in place of a benchmark's name. */
const COMPARE = 'compare';

/** Returns the command, or the reason in one line why there is none. */
export function readCommand(args: readonly string[], choices: Choices): Command | string {
  const given = parse(args);
  if (typeof given === 'string') return given;
  const { values, positionals } = given;
  const { smoke: isSmoke, scenario = '', json, target } = values;
  const [name, ref] = positionals;
  const refusal =
    refuseNames(positionals, choices) ?? refuseScenario(name ?? CHECK, scenario, choices);
  if (refusal !== undefined) return refusal;
  const common = { isSmoke, scenario, ...(json === undefined ? {} : { json }) };
  if (target !== undefined) {
    if (name !== CHECK) return `--target belongs to ${CHECK}`;
    const isOwned = values['yes-i-own-this'];
    const { rate = '100', duration = '10', devices = '1000', label } = values;
    const given = { target, rate, duration, devices, label, isOwned };
    const settings = readTargetSettings(given);
    if (typeof settings === 'string') return settings;
    return { benchmarks: [], target: settings, ...common };
  }
  if (name === DRAIN && ref !== undefined) return { benchmarks: [name], against: ref, ...common };
  if (values.edge && name !== COMPARE) return `--edge belongs to ${COMPARE}`;
  if (ref !== undefined) return { benchmarks: [], ref, isOnEdge: values.edge, ...common };
  const { devices, speed, duration } = values;
  if (speed !== undefined && name !== FLEET) return `--speed belongs to ${FLEET}`;
  if (name === FLEET && [devices, speed, duration].some((given) => given !== undefined)) {
    if (isSmoke) return `--smoke has a fleet of its own`;
    const fleet = readFleetSettings({ devices, speed, duration });
    return typeof fleet === 'string' ? fleet : { benchmarks: [name], fleet, ...common };
  }
  return { benchmarks: name === undefined ? choices.benchmarks : [name], ...common };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        smoke: { type: 'boolean', default: false },
        edge: { type: 'boolean', default: false },
        json: { type: 'string' },
        scenario: { type: 'string' },
        target: { type: 'string' },
        rate: { type: 'string' },
        duration: { type: 'string' },
        devices: { type: 'string' },
        speed: { type: 'string' },
        label: { type: 'string', multiple: true, default: [] },
        'yes-i-own-this': { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    if (error instanceof TypeError) return error.message;
    throw error;
  }
}

/** Reason why no benchmark and no comparison is named so; undefined when one is. */
function refuseNames(
  [name, ...rest]: readonly string[],
  { benchmarks }: Choices,
): string | undefined {
  if (name === COMPARE) {
    return rest.length === 1 ? undefined : `${COMPARE} takes one branch, tag or commit`;
  }
  if (name === DRAIN && rest.length === 1) return undefined;
  if (rest.length > 0) return `one benchmark at a time, not also ${rest.join(' ')}`;
  if (name === undefined || benchmarks.includes(name)) return undefined;
  return `no benchmark ${name}: there are ${benchmarks.join(', ')}, and ${COMPARE} REF`;
}

/** Reason why a scenario cannot be chosen so; undefined when it can. */
function refuseScenario(name: string, scenario: string, choices: Choices): string | undefined {
  if (scenario === '') return undefined;
  if (name !== CHECK && name !== COMPARE) return `--scenario belongs to ${CHECK} and ${COMPARE}`;
  const { scenarios } = choices;
  if (scenarios.some((each) => each.startsWith(scenario))) return undefined;
  return `no scenario begins with "${scenario}": there are ${scenarios.join(', ')}`;
}
