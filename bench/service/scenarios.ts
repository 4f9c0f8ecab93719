// Scenarios of update checks: the requests of the fleet, and the releases that they are answered from.

import type { Question } from '../load/question.ts';
import { checkPaths, type FixedApps } from './fixed-releases.ts';

export type Scenario = {
  readonly name: string;
  readonly question: Question;
  /** Question of the other side in `compare`, for claims on what two questions cost. */
  readonly beside?: Question;
  readonly expected: number;
  /** Whether every device asks before anything is measured: once in all, or after every start of a node. */
  readonly isMetBy?: 'stores' | 'node' | undefined;
  readonly isOneRequest?: boolean;
  /** True when answers follow from the ids of releases, which decide which devices are in a cohort. */
  readonly hasCohort?: boolean;
  /** Whether `check` also runs it at half of its rate, for latencies. */
  readonly isPaced?: boolean;
};

/** Times that every device asks until a node knows all labels: the first time they are new to it. */
const NODE_MEETINGS = 2;
const LATEST = '1.2.0';
const OLD_VERSIONS = Array.from({ length: 320 }, (_, patch) => `1.0.${patch}`);
const DEVICES = 131_072;
const DEVICES_SMOKE = 12_800;

export const OWN_CONNECTION = 'own connection';

const EARLY = { matchLabels: { ring: ['early'] }, matchExpressions: [] };
export const SCENARIO_APPS: FixedApps = {
  full: { own: [{ version: '1.1.0' }, { version: LATEST }] },
  partial: { own: [{ version: '1.1.0' }, { version: LATEST, rolloutPct: 20 }] },
  labels: { own: [{ version: '1.1.0' }, { version: LATEST, targets: EARLY }] },
  follower: { own: [{ version: '1.1.0' }], followed: [{ version: LATEST }] },
};

/**
 * Returns the scenarios; with `isSmoke`, for fleets that fit a run of seconds. Fleets are so large that no
 * device asks more than about ten times a minute at any rate measured here: real devices ask less often, and
 * the limit of 120 would otherwise turn a fast server's answers into refusals.
 */
export function scenarios(isSmoke: boolean): Scenario[] {
  const asking = (paths: readonly string[], devices = DEVICES): Question => ({
    ...{ paths, devices: isSmoke ? DEVICES_SMOKE : devices },
  });
  const usual = asking(pathsTo('full'));
  /** Scenario with what most have: an offer for each device, all of which are on record. */
  const scenario = (name: string, question: Question, more: Partial<Scenario> = {}): Scenario => ({
    ...{ name, question, expected: 200, isMetBy: 'stores', ...more },
  });
  return [
    scenario('full rollout', usual, { isPaced: true }),
    scenario('20 % rollout', asking(pathsTo('partial')), { hasCohort: true }),
    // Fewer devices, because PostgreSQL records the labels of each before its first answer.
    scenario('labels from the request', asking(ringPaths(), 65_536), { isMetBy: 'node' }),
    scenario(OWN_CONNECTION, usual, { isOneRequest: true }),
    scenario('changing labels', asking(changingLabels('full')), { beside: usual }),
    // As many as ask below their limit, and few enough to be on record after a warm-up.
    scenario('asked-for changing labels', asking(changingLabels('labels'), 32_768), {
      beside: asking(pathsTo('full'), 32_768),
    }),
    // The kind of every artifact leaves all of them to be matched.
    scenario('bundle in the request', asking(pathsTo('full', OLD_VERSIONS, '?bundle=tar.gz'))),
    scenario('following channel', asking(pathsTo('follower')), { beside: usual }),
    scenario('no update', asking(pathsTo('full', [LATEST, '1.3.0', '2.0.0'])), { expected: 204 }),
    scenario('unknown app', asking(pathsTo('nowhere')), { expected: 404, isMetBy: undefined }),
    scenario('million devices', asking(pathsTo('full'), 1_000_000)),
    scenario('version flood', asking(pathsTo('full', ['{version}'])), { isMetBy: undefined }),
  ];
}

export function meetingsOf({ isMetBy }: Scenario, isFirstStart: boolean): number {
  if (isMetBy === 'node') return NODE_MEETINGS;
  return isMetBy === 'stores' && isFirstStart ? 1 : 0;
}

function pathsTo(app: string, versions: readonly string[] = OLD_VERSIONS, query = ''): string[] {
  return versions.flatMap((version) => checkPaths(app).map((path) => `${path}/${version}${query}`));
}

/** Paths with labels, of which every other has the label that the newest release wants. */
function ringPaths(): string[] {
  return pathsTo('labels').map((path, index) => {
    const ring = index % 2 === 0 ? 'early' : 'late';
    return `${path}?l.ring=${ring}&l.region=r${index % 8}`;
  });
}

/** Paths with a label whose value changes with every check, as a battery's, and one that a release wants. */
function changingLabels(app: string): string[] {
  return pathsTo(app, OLD_VERSIONS, '?l.ring=early&l.battery={version}');
}
