// Rollouts of a simulated fleet: what each ready-made plan does with good releases and with bad ones. It
// measures no time; it fails when a preset does not keep what docs/operating/rollout-plans.md says of it.

import { Option } from 'commander';
import { stepsText } from '../../src/console/format/plan-words.ts';
import { PLAN_PRESET_NAMES } from '../../src/contract/choice.ts';
import type { PlanPresetName } from '../../src/contract/rollout-plan.ts';
import { PLAN_PRESETS } from '../../src/domain/rollout/plan-presets.ts';
import { type Benchmark, type Given, numberOption, Refusal } from '../benchmark.ts';
import { added } from '../measure/comparison.ts';
import { median } from '../measure/statistics.ts';
import type { Report, Row } from '../report.ts';
import { ddiReport } from './rollouts/ddi-report.ts';
import { type DdiSettings, playDdi } from './rollouts/play-ddi.ts';
import { type PlayedRollout, playRollout } from './rollouts/play-rollout.ts';
import { BAD, GOOD, type Trouble } from './rollouts/simulated-fleet.ts';

/** Fleets that are played; bad releases must be stopped in the largest: smaller ones tell too little. */
const FLEETS = [200, 1000, 20_000] as const;
const LARGE = 20_000;
const DAYS = 10;
const WEEK_MINUTES = 10_080;
/** Minutes between two publishings: a prime, so that releases come at all hours of the week. */
const APART_MINUTES = 1117;
/** Rollout, in percent, that a bad release must not reach. */
const ROLLOUT_MAX = 25;
/** Share of the good releases that may be stopped. */
const FALSE_STOPS_SHARE = 0.02;
const INVENTED = 10_000;
/** Devices that strangers bring from one address: more than the fleet has. */
const STRANGERS = 30_000;
/** Minutes by which a step may begin late: a plan waits while a guard has too few devices to judge. */
const LATE_MINUTES_MAX = 720;
/** Numbers of releases: good ones, those beside invented devices, bad ones of each kind, and an office's. */
const RELEASES = { good: 100, besideInvented: 20, bad: 40, ofOffice: 20 };
const SMOKE: typeof RELEASES = { good: 1, besideInvented: 1, bad: 1, ofOffice: 1 };

/** Shortest time between two polls, and polls a second that leave a small machine time for all else. */
const POLL_SECONDS_MIN = 10;
const POLLS_PER_SECOND_MAX = 750;
/** Time after a success in which a device that has not told its version is asked for it. */
const ASKED_SECONDS = 300;
const DDI_SMOKE: DdiSettings = { devices: 600, pollSeconds: 10, holdMinutes: 1, afterSeconds: 20 };

/** Releases of one kind, one after another. */
type Series = {
  name: string;
  trouble: Trouble;
  invented: number;
  strangers: number;
  /** Whether the fleet is behind one address: a guard only holds its plans, for a person to decide. */
  isOffice: boolean;
  releases: number;
  /** Devices of the fleet. */
  devices: number;
};

type Played = readonly PlayedRollout[];

export const rollouts: Benchmark = {
  name: 'rollouts',
  title: 'no time, but what the ready-made plans do with good and bad releases',
  options: [
    new Option('--ddi', 'a fleet that speaks DDI, against a service, in real time'),
    numberOption('--devices <n>', 'size of that fleet, 20000 unless given', 2000, 200_000),
  ],
  reading: [
    `Fleets of 200, 1,000 and 20,000 devices, ${DAYS} days; docs/benchmarks.md says what they are like.`,
    'completed: at 100 % on plan; stopped: by a guard, which only holds it where one network decides;',
    'at most: roll-out that a stopped one had reached;',
    'days: from the publishing until the stop, the median and the longest. Every run has the same figures.',
  ],
  run: async (given) => {
    const settings = ddiSettings(given);
    if (settings !== undefined) return ddiReport(await playDdi(settings));
    return given.isSmoke
      ? reportOf(['fast'], seriesOf([LARGE], SMOKE))
      : reportOf(PLAN_PRESET_NAMES, seriesOf(FLEETS, RELEASES));
  },
};

/** Returns how a fleet that speaks DDI is played; undefined when none is asked for. */
export function ddiSettings({ options, isSmoke }: Given): DdiSettings | undefined {
  const { ddi, devices } = options as { readonly ddi?: true; readonly devices?: number };
  if (ddi === undefined && devices !== undefined) throw new Refusal('--devices needs --ddi');
  if (ddi === undefined) return undefined;
  if (isSmoke && devices !== undefined) throw new Refusal('--smoke has a fleet of its own');
  return isSmoke ? DDI_SMOKE : ddiFleetOf(devices ?? LARGE);
}

/** Polls of a larger fleet are further apart, so that a machine keeps up. A step is held for two polls. */
function ddiFleetOf(devices: number): DdiSettings {
  const pollSeconds = Math.max(POLL_SECONDS_MIN, Math.ceil(devices / POLLS_PER_SECOND_MAX));
  const holdMinutes = 1 + Math.ceil((2 * pollSeconds) / 60);
  return { devices, pollSeconds, holdMinutes, afterSeconds: ASKED_SECONDS + 2 * pollSeconds };
}

function seriesOf(
  fleets: readonly number[],
  { good, besideInvented, bad, ofOffice }: typeof RELEASES,
): readonly Series[] {
  const plain = { invented: 0, strangers: 0, isOffice: false };
  const own = fleets.flatMap((devices) => [
    { ...plain, name: GOOD.name, trouble: GOOD, releases: good, devices },
    ...BAD.map((trouble) => ({ ...plain, name: trouble.name, trouble, releases: bad, devices })),
  ]);
  const large = { ...plain, devices: LARGE };
  const beside = { ...large, trouble: GOOD, releases: besideInvented };
  const strangers = ', with 30,000 devices of strangers behind one address';
  return [
    ...own,
    { ...beside, name: `${GOOD.name}, with 10,000 invented devices`, invented: INVENTED },
    { ...beside, name: GOOD.name + strangers, strangers: STRANGERS },
    ...[GOOD, ...BAD].map((trouble) => {
      return {
        ...large,
        name: `${trouble.name}, of one office`,
        trouble,
        isOffice: true,
        releases: ofOffice,
      };
    }),
  ];
}

function reportOf(presets: readonly PlanPresetName[], series: readonly Series[]): Report {
  const rows: Row[] = [];
  const failures: string[] = [];
  for (const preset of presets) {
    for (const each of series) {
      const played = playSeries(preset, each);
      const failure = judgeSeries(each, played);
      const what = `${preset}, ${each.devices} devices, ${each.name}`;
      if (failure !== undefined) failures.push(`${what}: ${failure}`);
      rows.push(rowOf(preset, each, played));
    }
  }
  const remarks = ['', ...presetTable(presets), '', ...markdown(rows)];
  return { tables: [], remarks, json: { rollouts: rows }, failures };
}

export function playSeries(preset: PlanPresetName, series: Series): Played {
  const { trouble, invented, strangers, isOffice, releases, devices } = series;
  return Array.from({ length: releases }, (_, index) =>
    playRollout({
      ...{ devices, invented, strangers, isOffice, days: DAYS, trouble, seed: index + 1 },
      publishedAtMinute: (index * APART_MINUTES) % WEEK_MINUTES,
      plan: PLAN_PRESETS[preset],
    }),
  );
}

/** Returns what a series did that it must not; undefined when it is as it should be. */
export function judgeSeries(
  { trouble, releases, devices, isOffice, strangers }: Series,
  played: Played,
): string | undefined {
  const stopped = played.filter(({ status }) => status === 'held');
  const isOneNetwork = isOffice || strangers > 0;
  const otherwise = stopped.filter(({ isPaused }) => isPaused === isOneNetwork);
  // In a small fleet, an ordinary network may be one without which too few devices are left.
  if (otherwise.length > 0 && (isOneNetwork || devices >= LARGE))
    return `${otherwise.length} ${isOneNetwork ? 'paused' : 'not paused'}`;
  if (trouble !== GOOD && devices < LARGE) return undefined;
  if (trouble !== GOOD) {
    const late = played.filter((each) => each.status !== 'held' || each.rolloutPct >= ROLLOUT_MAX);
    return late.length === 0 ? undefined : `${late.length} not stopped before ${ROLLOUT_MAX} %`;
  }
  const others = played.filter((each) => each.status !== 'held' && !isOnPlan(each));
  if (others.length > 0) return `${others.length} neither on plan nor stopped`;
  // Strangers hold plans while a step has few devices, and pause nothing.
  if (strangers > 0) return undefined;
  const isTooMuch = stopped.length > FALSE_STOPS_SHARE * releases;
  return isTooMuch ? `${stopped.length} of ${releases} stopped` : undefined;
}

function isOnPlan({ status, rolloutPct, lateMinutesMax }: PlayedRollout): boolean {
  return status === 'completed' && rolloutPct === 100 && lateMinutesMax <= LATE_MINUTES_MAX;
}

export function presetTable(names: readonly PlanPresetName[]): readonly string[] {
  const percent = (limit: number | undefined) => (limit === undefined ? 'no limit' : `${limit} %`);
  const rows = names.map((name): Row => {
    const { steps, guards } = PLAN_PRESETS[name];
    return {
      preset: `\`${name}\``,
      // In a document a line may end before a sign of percent.
      steps: stepsText(steps).replaceAll('\u00a0', ' '),
      failed: percent(guards.failedPercent),
      ...{ reverted: percent(guards.revertedPercent), stuck: percent(guards.stuckPercent) },
      silent: percent(guards.silentPercent),
      'stuck, silent after': `${guards.stuckAfterMinutes}, ${guards.silentAfterMinutes} min`,
      'confirmed after': `${guards.confirmMinutes} min`,
      'judged from': `${guards.minimumDevices} devices`,
    };
  });
  return markdown(rows);
}

function rowOf(preset: PlanPresetName, { name, releases, devices }: Series, played: Played): Row {
  const stopped = played.filter(({ status }) => status === 'held');
  const days = stopped.map(({ endedAfterDays }) => endedAfterDays);
  const by = Object.entries(added(stopped.map(({ heldFor }) => ({ [heldFor.join(' and ')]: 1 }))));
  const has = stopped.length > 0;
  return {
    ...{ preset: `\`${preset}\``, fleet: devices.toLocaleString('en-US'), release: name, releases },
    ...{ completed: played.filter(isOnPlan).length, stopped: stopped.length },
    'at most': has ? `${Math.max(...stopped.map(({ rolloutPct }) => rolloutPct))} %` : '-',
    days: has ? `${median(days).toFixed(1)}, ${Math.max(...days).toFixed(1)}` : '-',
    by: by.map(([signals, count]) => `${signals}: ${count}`).join('; ') || '-',
  };
}

function markdown(rows: readonly Row[]): string[] {
  const names = Object.keys(rows[0] ?? {});
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`;
  const body = rows.map((row) => line(names.map((name) => row[name] ?? '')));
  return [line(names), `|${names.map(() => '---').join('|')}|`, ...body];
}
