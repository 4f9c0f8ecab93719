// Commands of roll-out plans, and the words for a release's health.

import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  type Health,
  PLAN_ACTIONS,
  type PlanAction,
  type RolloutPlan,
  SIGNALS,
  TRIP_EFFECTS,
} from '../contract/rollout-plan.ts';
import { asking, type Connect, query, wholeNumber } from './asking.ts';
import { printAnswer } from './print-answer.ts';
import { printTable, takesColours } from './print-table.ts';

const DESCRIPTIONS: Readonly<Record<PlanAction, string>> = {
  hold: 'let a plan wait until it is resumed',
  resume: 'let a held plan go on',
  advance: 'end the present wait of a plan',
  cancel: 'end a plan; the roll-out stays where it is',
};

/** Adds the commands of plans, which call the management API. */
export function addPlanCommands(program: Command, connect: Connect): void {
  const plan = program
    .command('plan')
    .description('roll-outs that raise and stop themselves, with SLUICE_KEY');
  addSetCommand(plan, connect);
  asking(
    ofRelease(plan.command('show').description('show the plan of a release, and its health')),
    connect,
    (options) => ({ method: 'GET', path: `releases/plan?${query(options)}` }),
    undefined,
    planText,
  );
  for (const action of PLAN_ACTIONS) {
    asking(
      ofRelease(plan.command(action).description(DESCRIPTIONS[action])).option(
        '--reason <text>',
        'why, for the audit',
      ),
      connect,
      (options) => ({ method: 'PATCH', path: 'releases/plan', body: { ...options, action } }),
      undefined,
      planText,
    );
  }
}

/** Options of `plan set` that are limits and times of the guards. */
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

function addSetCommand(plan: Command, connect: Connect): void {
  const command = ofRelease(plan.command('set').description('plan the roll-out of a release'))
    .requiredOption('--steps <steps>', 'percent:minutes of each, such as 1:60,10:240,100:0', steps)
    .option('--start-at <time>', 'when it begins, e.g. 2027-01-31T00:00:00Z')
    .addOption(new Option('--on-trip <effect>', 'what a limit does').choices(TRIP_EFFECTS));
  for (const [flag, , description, isWhole] of GUARDS) {
    command.option(flag, description, isWhole ? wholeNumber : number);
  }
  command.option('--reason <text>', 'why, for the audit');
  asking(
    command,
    connect,
    ({ steps: planned, ...options }) => {
      const guards = Object.fromEntries(
        GUARDS.flatMap(([, name]) => (options[name] === undefined ? [] : [[name, options[name]]])),
      );
      const others = Object.entries(options).filter(([name]) => !(name in guards));
      const body = {
        ...Object.fromEntries(others),
        steps: JSON.parse(String(planned)),
        ...(Object.keys(guards).length === 0 ? {} : { guards }),
      };
      return { method: 'PUT', path: 'releases/plan', body };
    },
    undefined,
    planText,
  );
}

/** Returns the text of a release's health. */
export function healthText({ offered, installed, verdict, ...health }: Health): string {
  const table = printTable(
    [
      { label: 'signal', value: (signal) => signal },
      { label: 'devices', value: (signal) => health[signal] },
      { label: 'rate', value: (signal) => `${health.rates[signal].percent} %` },
      {
        label: '95 % interval',
        value: (signal) => `${health.rates[signal].low} to ${health.rates[signal].high} %`,
      },
      { label: 'limit', value: (signal) => limitText(health.rates[signal].limit) },
      { label: 'tripped', value: (signal) => (health.rates[signal].tripped ? 'yes' : '') },
    ],
    SIGNALS,
    'no signals',
    takesColours(process.stdout),
  );
  return [`health: ${verdict}, offered to ${offered}, installed by ${installed}`, table].join('\n');
}

function planText(answer: unknown): string {
  const { plan, health } = answer as { plan: RolloutPlan; health?: Health };
  const { steps, guards, step, ...fields } = plan;
  const table = printTable(
    [
      { label: 'step', value: (one) => steps.indexOf(one) + 1 },
      { label: 'rollout', value: ({ rollout }) => `${rollout} %` },
      { label: 'hold', value: ({ holdMinutes }) => `${holdMinutes} min` },
      {
        label: 'began',
        value: ({ startedAt, endedAt }) => startedAt ?? (endedAt ? 'passed over' : ''),
      },
      { label: 'ended', value: ({ endedAt }) => endedAt ?? '' },
    ],
    steps,
    'no steps',
    takesColours(process.stdout),
  );
  const limits = guards === null ? 'none' : JSON.stringify(guards);
  const place = step === null ? 'none yet' : `${step + 1} of ${steps.length}`;
  const head = printAnswer({ ...fields, step: place, guards: limits });
  return [head, '', table, ...(health === undefined ? [] : ['', healthText(health)])].join('\n');
}

function ofRelease(command: Command): Command {
  return command
    .requiredOption('--app <ref>', 'app')
    .requiredOption('--channel <name>', 'channel')
    .requiredOption('--version <version>', 'version');
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

function number(text: string): number {
  if (!/^\d{1,3}(?:\.\d+)?$/.test(text)) throw new InvalidArgumentError('Not a number.');
  return Number(text);
}

function limitText(limit: number | null): string {
  return limit === null ? '' : `${limit} %`;
}
