// Commands of rollout plans.

import { type Command, InvalidArgumentError, type Option } from 'commander';
import {
  BLIND_EFFECTS,
  PLAN_PRESET_NAMES,
  TRIP_EFFECTS,
  WEEK_DAYS,
} from '../../contract/choice.ts';
import type { PlanDryRunAnswer } from '../../contract/dry-run.ts';
import {
  PLAN_ACTIONS,
  type PlanAction,
  type RaiseHours,
  type RolloutPlan,
  type UnstoredPlan,
} from '../../contract/rollout-plan.ts';
import { answering, asking, type Connect, type Say, send } from '../call/asking.ts';
import { choice, type Options, ofRelease, query, wholeNumber } from '../call/options.ts';
import type { ServiceClient } from '../call/service-client.ts';
import { UsageError } from '../call/usage-error.ts';
import { effectText, findingsText } from '../print/findings-text.ts';
import { planText } from '../print/plan-text.ts';

const DESCRIPTIONS: Readonly<Record<PlanAction, string>> = {
  hold: 'let a plan wait until it is resumed',
  resume: 'let a held plan go on',
  advance: 'end the present wait of a plan',
  cancel: 'end a plan; the rollout stays where it is',
};

/** Adds the commands of plans, which call the management API. */
export function addPlanCommands(program: Command, connect: Connect): void {
  const plan = program
    .command('plan')
    .description('rollouts that raise and stop themselves, with SLUICE_KEY');
  addSetCommand(plan, connect);
  const show = ofRelease(
    plan.command('show').description('show the plan of a release, and its health'),
  );
  asking(show, connect, (options) => send('GET', `releases/plan?${query(options)}`), {
    text: planText,
  });
  for (const action of PLAN_ACTIONS) {
    const command = ofRelease(plan.command(action).description(DESCRIPTIONS[action]));
    asking(command, connect, (options) => send('PATCH', 'releases/plan', { ...options, action }), {
      text: planText,
    }).option('--reason <text>', 'why, for the audit');
  }
}

/** Options of `plan set` for limits and times of the guards. */
const GUARDS: readonly (readonly [
  flag: string,
  name: string,
  description: string,
  isWhole: boolean,
])[] = [
  ['--failed-percent <n>', 'failedPercent', 'hold when more devices report a failure', false],
  ['--reverted-percent <n>', 'revertedPercent', 'hold when more devices leave it again', false],
  ['--stuck-percent <n>', 'stuckPercent', 'hold when more devices do not get to it', false],
  ['--silent-percent <n>', 'silentPercent', 'hold when more devices fall silent', false],
  ['--minimum-devices <n>', 'minimumDevices', 'devices that a limit asks for', true],
  ['--stuck-after-minutes <n>', 'stuckAfterMinutes', 'when a device is stuck', true],
  ['--silent-after-minutes <n>', 'silentAfterMinutes', 'when a device is silent', true],
  ['--known-for-minutes <n>', 'knownForMinutes', 'how long devices must have been known', true],
  ['--confirm-minutes <n>', 'confirmMinutes', 'time between two checks that find it bad', true],
];

type SetAnswer = Omit<PlanDryRunAnswer, 'plan'> & { readonly plan: RolloutPlan | UnstoredPlan };

function addSetCommand(plan: Command, connect: Connect): void {
  const command = ofRelease(plan.command('set').description('plan the rollout of a release'));
  command
    .option('--steps <steps>', 'percent:minutes of each, such as 1:60,10:240,100:0', steps)
    .addOption(presetOption('--preset <name>'))
    .option('--start-at <time>', 'when it begins, e.g. 2027-01-31T00:00:00Z')
    .option(
      '--between <hours>',
      'when steps begin, e.g. "mon-fri 09:00-17:00 Europe/Berlin"',
      hours,
    )
    .addOption(choice('--on-trip <effect>', 'what a limit does', TRIP_EFFECTS))
    .addOption(choice('--on-blind <effect>', 'what too few devices do', BLIND_EFFECTS))
    .option('--patience-minutes <n>', 'time for which it waits for more devices', wholeNumber)
    .addOption(choice('--source <source>', 'push: devices reported with a key', ['push']));
  for (const [flag, , description, isWhole] of GUARDS) {
    command.option(flag, description, isWhole ? wholeNumber : number);
  }
  command.option('--reason <text>', 'why, for the audit');
  command.option('--dry-run', 'say what it would do, and plan nothing');
  answering(command, connect, (client, options, _args, say) => set(client, options, say), {
    text: textOf,
  });
}

/** Returns the option that names a plan preset. */
export function presetOption(flags: string): Option {
  return choice(flags, 'ready-made steps and limits', PLAN_PRESET_NAMES);
}

/** Makes a plan; prints first what a dry run finds. */
async function set(client: ServiceClient, options: Options, say: Say): Promise<SetAnswer> {
  const body = bodyOf(options);
  const tried = (await client.call('PUT', 'releases/plan?dryRun=true', body)) as PlanDryRunAnswer;
  if (options.dryRun === true) return tried;
  if (tried.findings.length > 0) say(findingsText(tried.findings));
  const { plan } = (await client.call('PUT', 'releases/plan', body)) as { plan: RolloutPlan };
  return { ...tried, plan };
}

function bodyOf({ dryRun: _, steps: planned, between, source, ...options }: Options): object {
  const given = GUARDS.flatMap(([, name]) =>
    options[name] === undefined ? [] : [[name, options[name]]],
  );
  const guards = Object.fromEntries(source === undefined ? given : [...given, ['source', source]]);
  const names = GUARDS.map(([, name]) => name);
  const others = Object.entries(options).filter(([name]) => !names.includes(name));
  if (planned === undefined && options.preset === undefined) {
    throw new UsageError('--steps or --preset is missing');
  }
  return {
    ...Object.fromEntries(others),
    ...(planned === undefined ? {} : { steps: JSON.parse(String(planned)) }),
    ...(between === undefined ? {} : { raiseBetween: JSON.parse(String(between)) }),
    ...(Object.keys(guards).length === 0 ? {} : { guards }),
  };
}

function textOf({ plan, findings, effect }: SetAnswer): string {
  if ('id' in plan) return planText({ plan });
  return [planText({ plan }), '', findingsText(findings), effectText(plan.version, effect)].join(
    '\n',
  );
}

/** Reads `1:60,10:240` as the JSON of the steps. */
function steps(text: string): string {
  const planned = text.split(',').map((step) => {
    const [, rollout, holdMinutes] = /^\s*(\d{1,3}):(\d{1,6})\s*$/.exec(step) ?? [];
    if (rollout === undefined)
      throw new InvalidArgumentError('Not percent:minutes,percent:minutes.');
    return { rollout: Number(rollout), holdMinutes: Number(holdMinutes) };
  });
  return JSON.stringify(planned);
}

/** Reads `mon-fri 09:00-17:00 Europe/Berlin` as the JSON of the hours. */
function hours(text: string): string {
  const [, named = '', from, to, timeZone] =
    /^([a-z,-]+) (\d\d:\d\d)-(\d\d:\d\d) (\S+)$/.exec(text.trim()) ?? [];
  const days = named.split(',').flatMap(daysOf);
  if (from === undefined || to === undefined || timeZone === undefined || days.length === 0) {
    throw new InvalidArgumentError('Not DAYS HH:MM-HH:MM TIMEZONE.');
  }
  return JSON.stringify({ days, from, to, timeZone } satisfies RaiseHours);
}

/** Reads a day, or a range such as `mon-fri`, which may cross the end of the week. */
function daysOf(text: string): RaiseHours['days'] {
  const [first, last = first] = text
    .split('-')
    .map((day) => (WEEK_DAYS as readonly string[]).indexOf(day));
  if (first === undefined || last === undefined || first < 0 || last < 0) return [];
  const length = ((last - first + WEEK_DAYS.length) % WEEK_DAYS.length) + 1;
  return [...WEEK_DAYS, ...WEEK_DAYS].slice(first, first + length);
}

function number(text: string): number {
  if (!/^\d{1,3}(?:\.\d+)?$/.test(text)) throw new InvalidArgumentError('Not a number.');
  return Number(text);
}
