// Scenarios of update checks: the requests of the fleet, and the releases that they are answered from.

import type pg from 'pg';
import type { Question } from '../load/question.ts';
import {
  ARCHES,
  CHANNEL,
  type FixedRelease,
  insertFixedApp,
  insertFixedChannel,
  PLATFORMS,
} from './fixed-channel.ts';

export type Scenario = {
  /** Name whose beginning selects the scenario on the command line. */
  readonly name: string;
  readonly question: Question;
  /**
   * Question of the other side in `compare`, for claims on what two questions cost; the same one by default.
   */
  readonly beside?: Question;
  /** Status that every answer must have. */
  readonly expected: number;
  /**
   * Whether every device asks before anything is measured: `stores`, once in all, so that the stores know it;
   * `node`, `NODE_MEETINGS` times after every start of a node, so that the node knows its labels too.
   */
  readonly isMetBy?: 'stores' | 'node';
  /** Whether each check has a connection of its own. */
  readonly isOneRequest?: boolean;
  /** True when answers follow from the ids of releases, which decide which devices are in a cohort. */
  readonly hasCohort?: boolean;
  /** Whether `check` also runs it at half of its rate, for latencies. */
  readonly isPaced?: boolean;
};

/**
 * Number of times that every device asks before a node knows the labels of all. What the first time brings to
 * the record changes so much that the node forgets all it knew; the second time it finds that on record.
 */
const NODE_MEETINGS = 2;

/** Number of old versions that the fleet runs: real fleets have a long tail of them. */
const OLD_VERSIONS = 320;
const LATEST = '1.2.0';
/**
 * Number of connections that leave the server work whenever the stores take the generator's processor for a
 * moment: with half of them the generator is the bottleneck on two processors.
 */
export const CONNECTIONS = 128;

/** Name of the scenario in which each check has a connection of its own. */
export const OWN_CONNECTION = 'own connection';

/**
 * Returns the scenarios; with `isSmoke`, for fleets that fit a run of seconds. Fleets are so large that no
 * device asks more than about ten times a minute at any rate measured here: real devices ask less often, and
 * the limit of 120 would otherwise turn a fast server's answers into refusals.
 */
export function scenarios(isSmoke: boolean): Scenario[] {
  const fleet = (devices: number) => (isSmoke ? 12_800 : devices);
  const devices = fleet(131_072);
  return [
    {
      name: 'full rollout',
      question: { paths: pathsTo('full', oldVersions()), devices },
      expected: 200,
      isMetBy: 'stores',
      isPaced: true,
    },
    {
      name: '20 % rollout',
      question: { paths: pathsTo('partial', oldVersions()), devices },
      expected: 200,
      hasCohort: true,
      isMetBy: 'stores',
    },
    {
      name: 'labels from the request',
      // Fewer devices, because PostgreSQL records the labels of each before its first answer.
      question: { paths: labelPaths(), devices: fleet(65_536) },
      expected: 200,
      isMetBy: 'node',
    },
    {
      name: OWN_CONNECTION,
      question: { paths: pathsTo('full', oldVersions()), devices },
      expected: 200,
      isMetBy: 'stores',
      isOneRequest: true,
    },
    {
      name: 'changing labels',
      question: { paths: changingLabels('full'), devices },
      beside: { paths: pathsTo('full', oldVersions()), devices },
      expected: 200,
      isMetBy: 'stores',
    },
    {
      name: 'asked-for changing labels',
      // As many as ask below their limit, and few enough to be on record after a warm-up.
      question: { paths: changingLabels('labels'), devices: fleet(32_768) },
      beside: { paths: pathsTo('full', oldVersions()), devices: fleet(32_768) },
      expected: 200,
      isMetBy: 'stores',
    },
    {
      name: 'bundle in the request',
      question: { paths: bundlePaths(), devices },
      expected: 200,
      isMetBy: 'stores',
    },
    {
      name: 'following channel',
      question: { paths: pathsTo('follower', oldVersions()), devices },
      beside: { paths: pathsTo('full', oldVersions()), devices },
      expected: 200,
      isMetBy: 'stores',
    },
    {
      name: 'no update',
      question: { paths: pathsTo('full', [LATEST, '1.3.0', '2.0.0']), devices },
      expected: 204,
      isMetBy: 'stores',
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
      isMetBy: 'stores',
    },
    {
      name: 'version flood',
      question: { paths: pathsTo('full', ['{version}']), devices },
      expected: 200,
    },
  ];
}

/** Returns how often every device asks after a start of a node, before anything is measured. */
export function meetingsOf({ isMetBy }: Scenario, isFirstStart: boolean): number {
  if (isMetBy === 'node') return NODE_MEETINGS;
  return isMetBy === 'stores' && isFirstStart ? 1 : 0;
}

/** Releases of an app's channel, and those of the channel that it follows, if it does. */
export type ScenarioApp = {
  readonly own: readonly FixedRelease[];
  readonly followed?: readonly FixedRelease[];
};

/** Channel that another one follows. */
export const FOLLOWED = 'followed';

/** Apps that the scenarios are about. */
export const SCENARIO_APPS: Readonly<Record<string, ScenarioApp>> = {
  full: { own: [{ version: '1.1.0' }, { version: LATEST }] },
  partial: { own: [{ version: '1.1.0' }, { version: LATEST, rolloutPct: 20 }] },
  labels: {
    own: [
      { version: '1.1.0' },
      { version: LATEST, targets: { matchLabels: { ring: ['early'] }, matchExpressions: [] } },
    ],
  },
  follower: { own: [{ version: '1.1.0' }], followed: [{ version: LATEST }] },
};

/** Writes the apps of the scenarios straight into PostgreSQL. */
export async function insertScenarios(sql: pg.Client): Promise<void> {
  for (const [ref, { own, followed }] of Object.entries(SCENARIO_APPS)) {
    await insertFixedApp(sql, ref);
    if (followed !== undefined) await insertFixedChannel(sql, ref, FOLLOWED, followed);
    const follows = followed === undefined ? undefined : FOLLOWED;
    await insertFixedChannel(sql, ref, CHANNEL, own, follows);
  }
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

/** Paths with labels, of which every other has the label that the newest release wants. */
function labelPaths(): string[] {
  return pathsTo('labels', oldVersions()).map((path, index) => {
    const ring = index % 2 === 0 ? 'early' : 'late';
    return `${path}?l.ring=${ring}&l.region=r${index % 8}`;
  });
}

/** Paths with a label whose value changes with every check, as a battery's, and one that a release wants. */
function changingLabels(app: string): string[] {
  return pathsTo(app, oldVersions()).map((path) => `${path}?l.ring=early&l.battery={version}`);
}

/** Paths with the kind of every artifact, which leaves all of them to be matched. */
function bundlePaths(): string[] {
  return pathsTo('full', oldVersions()).map((path) => `${path}?bundle=tar.gz`);
}
