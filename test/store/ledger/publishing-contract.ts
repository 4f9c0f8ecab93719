// Rules of the ledger port for publishing.

import { expect, test } from 'vitest';
import { fail, isFailure } from '../../../src/contract/failure.ts';
import type { Artifact, Targeting } from '../../../src/contract/resource.ts';
import { createTenant, ISO, tenantOfEach, UNKNOWN_NAMES } from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

const ARTIFACTS: readonly Artifact[] = [
  { platform: 'linux' },
  {
    ...{ platform: 'darwin', arch: 'aarch64', url: 'https://example.com/a?b=c', sha512: 'abc==' },
    ...{ size: Number.MAX_SAFE_INTEGER, signature: '"quoted"\n' },
  },
  {
    ...{ platform: 'linux', arch: '', format: 'deb', sha256: 'ab'.repeat(32) },
    ...{ sha1: 'cd'.repeat(20), minimumSystemVersion: '10.15', buildVersion: '7' },
  },
];

export function describePublishing({ ledger }: LedgerUnderTest): void {
  const tenant = tenantOfEach(ledger);

  test('a release comes back whole, with exactly the fields that it was given', async () => {
    const content = { version: 'v1.2', notes: '# Notes\n\u{1F680} "quoted"', artifacts: ARTIFACTS };
    const parts = { ...content, app: tenant.appId };
    const { value, changed } = await tenant.release('1.2.0', parts);
    const { id, createdAt } = value;
    const shown = { id, ...content, status: 'published', rolloutPct: 100, createdAt };
    expect(value).toEqual({ ...shown, app: tenant.app, channel: 'stable' });
    expect(Object.keys(value)).toEqual([
      ...['id', 'app', 'channel', 'version', 'notes', 'status', 'rolloutPct', 'createdAt'],
      'artifacts',
    ]);
    expect(createdAt).toMatch(ISO);
    expect(Math.abs(Date.parse(createdAt) - Date.now())).toBeLessThan(600_000);
    expect(changed).toMatchObject([{ appRef: tenant.app, channel: 'stable', revision: 2 }]);
    const edition = expect.stringMatching(/^[0-9a-f]{24}$/);
    expect(await tenant.stable()).toEqual({
      ...{ appId: tenant.appId, appRef: tenant.app, channelId: changed[0]?.channelId },
      ...{ channel: 'stable', epoch: 0, revision: 2, updateMode: 'optional', follows: null },
      ...{ ddi: null, ddiAuth: null },
      ...{ minimumSupportedVersion: null, requireSignature: false },
      releases: [
        {
          ...{ ...shown, edition, targets: null, offered: false, followed: false },
          ...{ number: expect.any(Number), retriedAt: null },
        },
      ],
    });
  });

  test("the channel's default rollout counts unless the release names its own", async () => {
    await tenant.setChannel({ defaultRollout: 5 });
    expect((await tenant.release('1.0.0')).value.rolloutPct).toBe(5);
    const targets: Targeting = {
      matchLabels: { zone: ['b', 'a'], area: ['c'] },
      matchExpressions: [{ key: '$version', operator: 'VersionGte', values: ['1.0'] }],
    };
    const own = { rolloutPct: 0, status: 'paused', targets } as const;
    const { value } = await tenant.release('1.1.0', own);
    expect(value).toMatchObject({ rolloutPct: 0, status: 'paused' });
    const [, release] = (await tenant.stable()).releases;
    expect(JSON.stringify(release?.targets)).toBe(JSON.stringify(targets));
  });

  test('a canonical version is unique per channel, and a refused publish leaves nothing', async () => {
    const both = await createTenant(ledger, ['stable', 'beta']);
    await both.release('1.2.0');
    const audit = await both.audit();
    const again = { version: 'v1.2', artifacts: [{ platform: 'x' }] };
    expect(await both.publish('1.2.0', again)).toEqual(fail('versionExists'));
    expect((await both.stable()).revision).toBe(2);
    for (const name of UNKNOWN_NAMES) {
      for (const [place, failure] of [
        [{ app: name }, 'unknownApp'],
        [{ channel: name }, 'unknownChannel'],
      ] as const) {
        expect(await both.publish('1.3.0', place)).toEqual(fail(failure));
      }
    }
    expect(await both.audit()).toEqual(audit);
    await both.release('1.2.0', { channel: 'beta' });
  });

  test('of publishes at once, one of each version lands, each with its own revision (§11.9)', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 24 }, (_, index) => tenant.publish(`1.${index % 8}.0`)),
    );
    expect(outcomes.filter(isFailure)).toEqual(Array(16).fill(fail('versionExists')));
    const revisions = outcomes.flatMap((each) => (isFailure(each) ? [] : each.changed));
    const sorted = revisions.map(({ revision }) => revision).toSorted((a, b) => a - b);
    expect(sorted).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
    const { revision, releases } = await tenant.stable();
    expect([revision, releases.length]).toEqual([9, 8]);
  });
}
