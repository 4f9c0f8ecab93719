// Report of a fleet that speaks DDI: what its devices did with each release, what stopped it, and what the
// service needed. It fails when a plan did not end as it must, or a device got what it must not get.

import type { Report, Row } from '../../report.ts';
import { ADDRESSES } from './ddi-fleet.ts';
import type { ReleaseCounts } from './ddi-record.ts';
import { BAD_SHARES, type DdiRelease, type DdiRun } from './play-ddi.ts';

const READING = [
  'good, bad: fails on 0.2 % and 3 % of the devices; 0.2 % and 2 % fall back after they told a success.',
  'again: further installations of a device whose bar had ended, since it told the version and then another,',
  'or whose closing was refused; barred: actions that a device must not get; after the plan: installations',
  'that began after its end was seen, at most two seconds late. Times are real.',
];
const PERCENT = 100;

export function ddiReport(run: DdiRun): Report {
  const rows = run.releases.map((release, index) => {
    return releaseRow(release, run.counts[index] as ReleaseCounts, run.installed[index] ?? 0);
  });
  const fleet = fleetRow(run);
  return {
    tables: [
      { title: 'the fleet, and what the service needed', rows: [fleet] },
      { title: 'releases', rows },
    ],
    reading: READING,
    remarks: [...run.releases.map(endOf), ...refusalsOf(run)],
    json: { ddi: { ...fleet, releases: rows, refusals: Object.fromEntries(run.record.refusals) } },
    failures: run.releases.flatMap((release, index) =>
      judgeDdi(release, run.counts[index] as ReleaseCounts),
    ),
  };
}

/** Returns what a release did that it must not. */
export function judgeDdi(
  { version, shares, plan: { status }, rolloutPct, isPaused }: DdiRelease,
  { installs, barred }: ReleaseCounts,
): string[] {
  const isBad = shares === BAD_SHARES;
  const isRight = isBad
    ? status === 'held' && isPaused
    : status === 'completed' && rolloutPct === PERCENT;
  return [
    ...(isRight ? [] : [`${version}: ${status} at ${rolloutPct} %`]),
    ...(barred === 0 ? [] : [`${version}: ${barred} actions of devices that must not get one`]),
    ...(installs > 0 ? [] : [`${version}: nobody installed it`]),
  ];
}

function fleetRow({ settings, record, recordMinutes, usage }: DdiRun): Row {
  const { minutes, servingSeconds, backgroundSeconds, simulatorSeconds, mostBytes } = usage;
  return {
    ...{ devices: settings.devices, addresses: Math.min(ADDRESSES, settings.devices / 2) },
    ...{ 'poll s': settings.pollSeconds, polls: record.polls, requests: record.requests },
    ...{ cancelled: record.cancelled, minutes, 'on record after': recordMinutes },
    'requests/s': Math.round(record.requests / minutes / 60),
    'serving CPU us': Math.round((servingSeconds * 1e6) / record.requests),
    'background CPU us': Math.round((backgroundSeconds * 1e6) / record.requests),
    'simulator CPU us': Math.round((simulatorSeconds * 1e6) / record.requests),
    'memory MB': Math.round(mostBytes / 1e6),
  };
}

function releaseRow(release: DdiRelease, counts: ReleaseCounts, installed: number): Row {
  const { version, shares, plan, rolloutPct, minutes } = release;
  const { actions, installs, failures, successes, fellBack, again, barred } = counts;
  return {
    ...{ release: `${version}, ${shares === BAD_SHARES ? 'bad' : 'good'}`, plan: plan.status },
    ...{
      'at %': rolloutPct,
      minutes,
      actions,
      installs,
      'after the plan': installs - release.installs,
    },
    ...{
      successes,
      failures,
      'fell back': fellBack,
      again,
      barred,
      'run it at the end': installed,
    },
  };
}

function endOf({ version, plan: { status, reason } }: DdiRelease): string {
  return `${version} is ${status}${reason === null ? '' : `: ${reason}`}`;
}

function refusalsOf({ record: { refusals, requests } }: DdiRun): string[] {
  if (refusals.size === 0) return [`All ${requests.toLocaleString('en-US')} answers were 200.`];
  const kinds = [...refusals].map(([kind, count]) => `${kind} ${count}`);
  return [`Answers that were not 200, after which devices went on: ${kinds.join(', ')}`];
}
