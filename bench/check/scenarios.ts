// What `check` asks, scenario by scenario, and of which releases.

import type pg from 'pg';
import { ARCHES, CHANNEL, insertFixedChannel, PLATFORMS } from '../load/fixed-channel.ts';
import type { Question } from '../load/question.ts';

export type Scenario = {
  /** Reports and their readers know it by how this begins. */
  readonly name: string;
  readonly question: Question;
  /** What every answer's status must be. */
  readonly expected: number;
  /** Whether every device asks once and is recorded before anything is measured. */
  readonly meetsAllFirst?: boolean;
  /** Whether it is also run at half of its rate, for latencies. */
  readonly isPaced?: boolean;
};

/** Different addresses per scenario, as a fleet with a long tail of old versions has them. */
const OLD_VERSIONS = 320;
const LATEST = '1.2.0';
/**
 * So many that the server has work left whenever the stores take the generator's processor for a moment: with
 * half of them the generator is the bottleneck on two processors.
 */
export const CONNECTIONS = 128;

/**
 * The scenarios; with `isSmoke`, for fleets that fit a run of seconds. Fleets are so large that no device
 * asks more than about ten times a minute at any rate that is seen here: real ones ask less, and the limit
 * of 120 would otherwise turn a quick server's answers into refusals.
 */
export function scenarios(isSmoke: boolean): Scenario[] {
  const fleet = (devices: number) => (isSmoke ? 12_800 : devices);
  const devices = fleet(131_072);
  return [
    {
      name: 'full rollout',
      question: { paths: pathsTo('full', oldVersions()), devices },
      expected: 200,
      meetsAllFirst: true,
      isPaced: true,
    },
    {
      name: '20 % rollout',
      question: { paths: pathsTo('partial', oldVersions()), devices },
      expected: 200,
      meetsAllFirst: true,
    },
    {
      name: 'labels from the request',
      // Fewer: PostgreSQL records the labels of each before its first answer.
      question: { paths: labelPaths(), devices: fleet(98_304) },
      expected: 200,
      meetsAllFirst: true,
    },
    {
      name: 'no update',
      question: { paths: pathsTo('full', [LATEST, '1.3.0', '2.0.0']), devices },
      expected: 204,
      meetsAllFirst: true,
    },
    {
      name: 'unknown app',
      question: { paths: pathsTo('nowhere', oldVersions()), devices },
      expected: 404,
    },
    {
      name: 'million devices',
      question: { paths: pathsTo('full', oldVersions()), devices: fleet(1_000_000) },
      expected: 200,
      meetsAllFirst: true,
    },
    {
      name: 'version flood',
      question: { paths: pathsTo('full', ['{version}']), devices },
      expected: 200,
    },
  ];
}

/** Writes the releases that the scenarios are about. */
export async function insertScenarios(sql: pg.Client): Promise<void> {
  await insertFixedChannel(sql, 'full', [{ version: '1.1.0' }, { version: LATEST }]);
  await insertFixedChannel(sql, 'partial', [
    { version: '1.1.0' },
    { version: LATEST, rolloutPct: 20 },
  ]);
  const targets = { matchLabels: { ring: ['early'] }, matchExpressions: [] };
  await insertFixedChannel(sql, 'labels', [{ version: '1.1.0' }, { version: LATEST, targets }]);
}

function oldVersions(): string[] {
  return Array.from({ length: OLD_VERSIONS }, (_, patch) => `1.0.${patch}`);
}

function pathsTo(app: string, versions: readonly string[]): string[] {
  return versions.flatMap((version) =>
    PLATFORMS.flatMap((platform) =>
      ARCHES.map((arch) => `/u/${app}/${CHANNEL}/${platform}/${arch}/${version}`),
    ),
  );
}

/** Every other device is an early one. */
function labelPaths(): string[] {
  return pathsTo('labels', oldVersions()).map((path, index) => {
    const ring = index % 2 === 0 ? 'early' : 'late';
    return `${path}?l.ring=${ring}&l.region=r${index % 8}`;
  });
}
