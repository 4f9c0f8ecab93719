// Tests everything that follows from the list of decision rules against the conditions of each rule: the walk
// over a plan, the decision that all devices of a plan share, the labels that are fetched, the versions that
// share a plan, and the explanation. A rule that only this file knows is obeyed like the rules of the
// product.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Catalog, compileCatalog } from '../../../src/domain/decision/catalog.ts';
import { choose, commonChoice, decide } from '../../../src/domain/decision/decide.ts';
import { explain } from '../../../src/domain/decision/explain.ts';
import type {
  Condition,
  DecisionRule,
  Device,
} from '../../../src/domain/decision/rule/decision-rule.ts';
import { DECISION_RULES } from '../../../src/domain/decision/rule/decision-rules.ts';
import type { SnapshotRelease } from '../../../src/domain/decision/serving-snapshot.ts';
import type { RequestFields } from '../../../src/domain/decision/targeting.ts';
import { compareVersions, type Version } from '../../../src/domain/decision/version.ts';
import { versionPosition } from '../../../src/domain/decision/version-position.ts';
import { IS_FULL } from '../../support/full-run.ts';
import {
  anyLabels,
  anyReleases,
  device,
  fields,
  LADDER,
  planOf,
  snapshot,
  version,
} from '../sample.ts';

/** Rule that reads the devices of a release from its notes, which no rule of the product does. */
const NOTES_RULE: DecisionRule = {
  reason: 'not-targeted',
  conditions: ({ notes }) => NOTES_CONDITIONS[notes] ?? [],
  sentence: ({ notes }) => `Its notes keep it away: ${notes}.`,
};

const EDGE = version('1.0.5');
/** Least number of cases of each kind that must have come up. */
const SEEN_MIN = 10;

const NOTES_CONDITIONS: Readonly<Record<string, readonly Condition[]>> = {
  nobody: [{ on: 'fields', versions: [], fits: () => false }],
  edge: [
    {
      on: 'fields',
      versions: [EDGE],
      fits: (asked) => asked.version !== undefined && compareVersions(asked.version, EDGE) >= 0,
    },
  ],
  lab: [{ on: 'device', labelKeys: ['site'], fits: ({ labels }) => labels.get('site') === 'lab' }],
};

/** Versions of devices, mostly between releases. Between 1.0.4 and 1.0.6 lies `EDGE` and no release. */
const ASKED = ['0.1', '0.2', '1.0.4', '1.0.6', '2.5', '3.0.0', '4.0'];

const RELEASES = anyReleases({
  status: fc.constantFrom('published', 'published', 'published', 'rolled_back', 'paused'),
  rolloutPct: fc.constantFrom(0, 50, 100, 100, 100),
  notes: fc.constantFrom('', '', '', 'nobody', 'edge', 'lab'),
});

const anyRequest = fc.record({
  asked: fc.constantFrom(...ASKED, ...LADDER).map((text) => fields(text)),
  who: fc
    .tuple(
      fc.constantFrom('d1', 'd2', 'd3', 'd4', 'd5', undefined),
      anyLabels,
      fc.constantFrom({ site: 'lab' }, { site: 'desk' }, {}),
    )
    .map(([id, labels, site]) => device(id, { ...Object.fromEntries(labels), ...site })),
  excluded: fc
    .subarray(
      LADDER.map((text) => `rel-${text}`),
      { maxLength: 2 },
    )
    .map((ids) => new Set(ids)),
});

const LISTS: readonly (readonly [string, readonly DecisionRule[]])[] = [
  ['the rules of the product', DECISION_RULES],
  ['another rule alone', [NOTES_RULE]],
  ['another rule before all others', [NOTES_RULE, ...DECISION_RULES]],
  ['another rule behind all others', [...DECISION_RULES, NOTES_RULE]],
];

describe.each(LISTS)('with %s', (title, rules) => {
  const few = `too few cases for ${title}: LADDER, RELEASES and the labels lack what the rule reads`;

  it('a decision offers the first release that no rule keeps from the device, else says the first reason', () => {
    const seen = { offered: 0, refused: 0 };
    eachRequest(rules, (served, { asked, who }) => {
      const plan = planOf(served, asked);
      const inQuestion = plan.list.slice(plan.from, plan.to);
      const obstacles = inQuestion.map((each) => unmetRule(rules, each.release.source, asked, who));
      const first = obstacles.indexOf(undefined);
      const { reason, candidate } = decide(plan, who);
      expect(candidate).toBe(inQuestion[first]);
      if (candidate === undefined) expect(reason).toBe(obstacles[0]?.reason ?? plan.reasonWithout);
      seen[candidate === undefined ? 'refused' : 'offered'] += 1;
    });
    expect(Math.min(...Object.values(seen)), few).toBeGreaterThan(SEEN_MIN);
  });

  it('what a plan says for all devices is what each of them is decided', () => {
    const seen = { offer: 0, nothing: 0, depends: 0 };
    eachRequest(rules, (served, { asked, who }) => {
      const plan = planOf(served, asked);
      const common = commonChoice(plan);
      if (common !== undefined) expect(choose(plan, who)).toBe(common);
      const kind = typeof common === 'string' ? 'nothing' : 'offer';
      seen[common === undefined ? 'depends' : kind] += 1;
    });
    expect(Math.min(seen.offer, seen.nothing, seen.depends), few).toBeGreaterThan(SEEN_MIN);
  });

  it('the labels that a plan names are all that an offer depends on', () => {
    eachRequest(rules, (served, { asked, who }) => {
      const plan = planOf(served, asked);
      const labels = new Map([...who.labels].filter(([key]) => plan.labelKeys.includes(key)));
      expect(decide(plan, { ...who, labels }).candidate).toBe(decide(plan, who).candidate);
    });
  });

  it('versions at the same position among the landmarks are decided alike', () => {
    let shared = 0;
    eachRequest(rules, (served, { asked, who }) => {
      const decided = new Map<number, unknown>();
      for (const text of ASKED) {
        const position = versionPosition(served.landmarks, version(text));
        const { candidate } = decide(planOf(served, { ...asked, version: version(text) }), who);
        if (decided.has(position)) shared += 1;
        else decided.set(position, candidate);
        expect(candidate).toBe(decided.get(position));
      }
    });
    expect(shared).toBeGreaterThan(SEEN_MIN);
  });

  it('an explanation passes over every release on the way, highest first, to what is decided', () => {
    eachRequest(rules, (served, { asked, who, excluded }) => {
      const plan = planOf(served, asked);
      const { reason, candidates } = explain(plan, who, excluded);
      const decision = decide(plan, who, excluded);
      const offered = decision.candidate?.release.source.version;
      expect(reason).toBe(decision.reason);
      const onTheWay = wayOf(served, asked.version, plan.allowDowngrade);
      const looked = candidates.map((each) => each.version);
      const end = offered === undefined ? onTheWay.length : onTheWay.indexOf(offered) + 1;
      expect(looked).toEqual(onTheWay.slice(0, end));
      for (const { version: text, verdict, detail } of candidates) {
        expect(detail).toMatch(/^[A-Z].*\.$/s);
        expect(verdict === 'offered').toBe(text === offered);
        const source = served.byCanonical.get(version(text).canonical)?.source;
        if (source?.status !== 'published') continue;
        const rule = unmetRule(rules, source, asked, who);
        const passed = excluded.has(source.id) ? 'first-offer-unavailable' : 'offered';
        expect(verdict).toBe(rule?.reason ?? passed);
        if (rule !== undefined) expect(detail).toBe(rule.sentence(source, asked, who));
      }
    });
  });
});

function eachRequest(
  rules: readonly DecisionRule[],
  check: (
    served: Catalog,
    request: {
      readonly asked: ReturnType<typeof fields>;
      readonly who: Device;
      readonly excluded: ReadonlySet<string>;
    },
  ) => void,
): void {
  fc.assert(
    fc.property(RELEASES, fc.array(anyRequest, { minLength: 1 }), (releases, requests) => {
      const served = compileCatalog(snapshot(releases), rules);
      for (const request of requests) check(served, request);
    }),
    // Enough that each count below is far above its minimum, whatever the seed.
    { numRuns: IS_FULL ? 1000 : 200 },
  );
}

/** Returns the versions of releases of any status above one, or below it, the highest first. */
function wayOf({ byCanonical }: Catalog, from: Version, isDown: boolean): string[] {
  const all = [...byCanonical.values()].map(({ source }) => source.version);
  const way = all.filter((each) => compareVersions(version(each), from) * (isDown ? -1 : 1) > 0);
  return way.sort((left, right) => compareVersions(version(right), version(left)));
}

/** Returns the first rule with an unmet condition, read from the rules without anything compiled. */
function unmetRule(
  rules: readonly DecisionRule[],
  source: SnapshotRelease,
  asked: RequestFields,
  who: Device,
): DecisionRule | undefined {
  const holds = (condition: Condition) =>
    condition.on === 'fields' ? condition.fits(asked) : condition.fits(who);
  return rules.find((rule) => !rule.conditions(source).every(holds));
}
