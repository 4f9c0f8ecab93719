// Tests the explanation of decisions for programs (docs/contract.md 4.20), from the text of the query on: a
// device on record, or as the query describes it. Each reason is tested in test/domain/decision.

import { expect, it } from 'vitest';
import { fail, isFailure } from '../../src/contract/failure.ts';
import type { SnapshotRelease } from '../../src/domain/decision/serving-snapshot.ts';
import { explainInput, explainQuery, toldDeviceOf } from '../../src/http/endpoint/fleet-body.ts';
import { parseShape } from '../../src/http/endpoint/parse-shape.ts';
import { ExplainDecision } from '../../src/serving/explain-decision.ts';
import { catalog, release, targeting } from '../domain/sample.ts';
import { ARTIFACT } from '../support/tenant.ts';

/** The one device on record; its labels are `ring` c and `kept` 1. */
const RECORD = {
  ...{ deviceId: 'a', channel: 'stable', platform: 'linux', arch: 'x86_64', version: '1.0.0' },
  ...{ client: 'u', bundle: null },
};
const LABELS = { ring: 'c', kept: '1' };
const LINUX = 'channel=stable&platform=linux&arch=x86_64';

function at(version: string, parts: Partial<SnapshotRelease> = {}): SnapshotRelease {
  const artifacts = [{ ...ARTIFACT, url: 'https://dl.example.com/app.deb' }];
  return release(version, { artifacts, ...parts });
}

const APP = { id: 'app-1', ref: 'acme' };

/** Returns the explainer of an app with these releases on `stable`, which `beta` follows; beta has 1.9.0. */
function explainerOf(stable: readonly SnapshotRelease[]): ExplainDecision {
  const followed = stable.map((each) => ({ ...each, followed: true }));
  const own = at('1.9.0', { status: 'deprecated' });
  const catalogs = new Map([
    ['stable', catalog(stable)],
    ['beta', catalog([own, ...followed], { channel: 'beta', follows: 'stable' })],
  ]);
  return new ExplainDecision({
    ledger: {
      readDevice: async (_: string, id: string) => (id === 'a' ? RECORD : fail('unknownDevice')),
    },
    catalogs: {
      findForCaller: async (_: string, channel: string) =>
        catalogs.has(channel) ? { catalog: catalogs.get(channel) } : fail('unknownChannel'),
    },
    firstOffers: { excludedIn: () => new Set() },
    labels: { readAll: async () => [new Map(Object.entries(LABELS))] },
  } as unknown as ConstructorParameters<typeof ExplainDecision>[0]);
}

/** Explains by a query. */
async function explain(query: string, ...stable: readonly SnapshotRelease[]): Promise<unknown> {
  const told = parseShape(explainQuery, explainInput(`app=acme&${query}`));
  return isFailure(told) ? told : explainerOf(stable).explainTold(APP, toldDeviceOf(told));
}

it.each<[query: string, reason: string, device?: object]>([
  ['deviceId=a', 'not-targeted', { ...RECORD, labels: LABELS }],
  ['deviceId=a&l.ring=a', 'offered', { labels: { ring: 'a', kept: '1' } }],
  ['deviceId=a&l.ring=a&version=v1.1', 'up-to-date', { version: '1.1.0' }],
  ['deviceId=a&l.ring=a&platform=win32', 'no-artifact', { platform: 'win32' }],
  ['deviceId=a&l.ring=a&arch=arm64', 'no-artifact', { arch: 'arm64' }],
  ['deviceId=a&channel=beta&version=2', 'up-to-date', { channel: 'beta' }],
  // Without what is on record.
  [`${LINUX}&version=1.0.0&l.ring=a`, 'offered', { deviceId: null, client: 'u', bundle: null }],
  [`${LINUX}&version=1.0.0&l.ring=a&bundle=deb`, 'offered', { bundle: 'deb' }],
  [`${LINUX}&version=1.0.0&l.ring=a&bundle=appimage`, 'no-artifact', { bundle: 'appimage' }],
  // Without a version as on /e, where electron-updater needs a SHA-512.
  [`${LINUX}&l.ring=a`, 'no-artifact', { client: 'e', version: null }],
])(
  'what the query tells counts before the record: %s is %s (§4.20)',
  async (query, reason, device) => {
    const targets = targeting({ matchLabels: { ring: ['a'] } });
    const update = reason === 'offered' ? expect.objectContaining({ version: '1.1.0' }) : null;
    const expected = { decision: { update, reason }, device };
    expect(await explain(query, at('1.1.0', { targets }))).toMatchObject(expected);
  },
);

it.each([
  ['channel: Required', 'deviceId=x&platform=linux'],
  ['platform: Required without a deviceId', 'channel=stable'],
  ['version: Invalid version', 'channel=stable&platform=linux&version=nonsense'],
  ['platform: Must not contain NUL or broken characters', 'channel=stable&platform=%00'],
  ['deviceId: Must not be empty', 'deviceId='],
  ['bundle: Must have at most 32 characters', `bundle=${'x'.repeat(33)}`],
  ['l.key: Must be at most 256 characters', `l.key=${'x'.repeat(10_000)}`],
  ['Unknown device', 'deviceId=nobody'],
  ['Unknown channel', 'deviceId=a&channel=nowhere'],
])('what is wrong, unknown or half a device is refused: %s (§4.20)', async (message, query) => {
  expect(await explain(query)).toMatchObject({ message });
});

it('each candidate has its first obstacle, all unmet conditions, and its own channel (§4.20)', async () => {
  const version = { key: '$version', operator: 'VersionGte', values: ['2.0.0'] } as const;
  const tier = { key: 'tier', operator: 'Exists', values: [] } as const;
  const ring = { matchLabels: { ring: ['a', 'b'] }, matchExpressions: [version, tier] };
  const nobody = { targets: targeting(ring), rolloutPct: 0 };
  const answer = await explain(
    `${LINUX.replace('stable', 'beta')}&version=1.0.0&l.ring=c&l.tier=gold`,
    at('1.4.0', { status: 'paused', ...nobody }),
    at('1.3.0', { artifacts: [{ ...ARTIFACT, platform: 'windows' }], ...nobody }),
    at('1.2.0', nobody),
    at('1.1.0', { rolloutPct: 50 }),
  );
  const unmet = [{ key: 'ring', operator: 'In', values: ['a', 'b'] }, version];
  const usual = { channel: 'stable', status: 'published', bucket: null, threshold: 0, unmet };
  expect(answer).toMatchObject({
    decision: { update: null, reason: 'not-targeted' },
    candidates: [
      { version: '1.9.0', channel: 'beta', status: 'deprecated', verdict: 'not-published' },
      { ...usual, version: '1.4.0', status: 'paused', verdict: 'not-published' },
      { ...usual, version: '1.3.0', verdict: 'no-artifact' },
      { ...usual, version: '1.2.0', verdict: 'not-targeted' },
      { ...usual, version: '1.1.0', verdict: 'outside-cohort', threshold: 5000, unmet: [] },
    ],
  });
});

it('a mistaken id is none: outside every cohort (§19.10)', async () => {
  const query = `deviceId=undefined&${LINUX}&version=1.0.0`;
  expect(await explain(query, at('1.1.0', { rolloutPct: 99 }))).toMatchObject({
    decision: { update: null, reason: 'outside-cohort' },
    candidates: [{ verdict: 'outside-cohort', bucket: null }],
  });
});

it('of many devices each is explained once, in their order; those that are not on record say nothing', async () => {
  const targets = targeting({ matchLabels: { ring: ['b'] } });
  const explainer = explainerOf([at('1.2.0', { targets }), at('1.1.0')]);
  const { platform, arch, version, channel } = RECORD;
  const device = { platform, arch, version, channel };
  expect(await explainer.explainAll(APP, ['nobody', 'a', 'nobody'])).toEqual({
    decisions: [
      { deviceId: 'nobody', device: null, offer: null, reason: null, why: null },
      {
        ...{ deviceId: 'a', device, offer: '1.1.0', reason: 'offered' },
        why: expect.stringMatching(/^1\.2\.0: /),
      },
    ],
  });
});
