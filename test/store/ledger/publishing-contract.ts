// Rules of the ledger port for publishing.

import { expect, test } from 'vitest';
import { fail, isFailure } from '../../../src/contract/failure.ts';
import type { Artifact, Targeting } from '../../../src/contract/resource.ts';
import {
  createTenant,
  ISO,
  newRelease,
  OPERATOR,
  PUBLISHER,
  publish,
  readAudit,
  readStable,
  tenantOfEach,
  UNKNOWN_NAMES,
} from './ledger-fixture.ts';
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
    const { value, changed } = await publish(ledger, tenant, '1.2.0', parts);
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
    expect(await readStable(ledger, tenant)).toEqual({
      ...{ appId: tenant.appId, appRef: tenant.app, channelId: changed[0]?.channelId },
      ...{ channel: 'stable', epoch: 0, revision: 2, updateMode: 'optional', follows: null },
      ...{ minimumSupportedVersion: null, requireSignature: false },
      releases: [{ ...shown, edition, targets: null, offered: false, followed: false }],
    });
  });

  test("the channel's default rollout counts unless the release names its own", async () => {
    await ledger.updateChannel({
      input: { app: tenant.app, channel: 'stable', change: { defaultRollout: 5 } },
      actor: OPERATOR,
    });
    expect((await publish(ledger, tenant, '1.0.0')).value.rolloutPct).toBe(5);
    const own = await publish(ledger, tenant, '1.1.0', { rolloutPct: 0, status: 'paused' });
    expect(own.value).toMatchObject({ rolloutPct: 0, status: 'paused' });
  });

  test('targets keep the order of their keys', async () => {
    const targets: Targeting = {
      matchLabels: { zone: ['b', 'a'], area: ['c'] },
      matchExpressions: [{ key: '$version', operator: 'VersionGte', values: ['1.0'] }],
    };
    await publish(ledger, tenant, '1.0.0', { targets });
    const [release] = (await readStable(ledger, tenant)).releases;
    expect(JSON.stringify(release?.targets)).toBe(JSON.stringify(targets));
  });

  test('a canonical version is unique per channel, and a refused publish leaves nothing', async () => {
    const both = await createTenant(ledger, ['stable', 'beta']);
    await publish(ledger, both, '1.2.0');
    const audit = await readAudit(ledger, both);
    const again = newRelease(both, '1.2.0', { version: 'v1.2', artifacts: [{ platform: 'x' }] });
    const outcome = await ledger.publishRelease({
      scope: both.organizationId,
      input: again,
      actor: PUBLISHER,
    });
    expect(outcome).toEqual(fail('versionExists'));
    expect((await readStable(ledger, both)).revision).toBe(2);
    expect(await readAudit(ledger, both)).toEqual(audit);
    await publish(ledger, both, '1.2.0', { channel: 'beta' });
  });

  test('of 12 publishes of one version at once exactly one lands', async () => {
    const release = newRelease(tenant, '3.0.0');
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, () =>
        ledger.publishRelease({ scope: tenant.organizationId, input: release, actor: PUBLISHER }),
      ),
    );
    expect(outcomes.filter(isFailure)).toEqual(Array(11).fill(fail('versionExists')));
    expect(await readStable(ledger, tenant)).toMatchObject({ revision: 2, releases: [{}] });
  });

  test('publishes of different versions at once all land, each with its own revision', async () => {
    const published = await Promise.all(
      Array.from({ length: 12 }, (_, index) => publish(ledger, tenant, `1.${index}.0`)),
    );
    const revisions = published.map(({ changed }) => changed[0]?.revision ?? 0);
    expect(revisions.sort((a, b) => a - b)).toEqual(
      Array.from({ length: 12 }, (_, index) => index + 2),
    );
    const { revision, releases } = await readStable(ledger, tenant);
    expect([revision, releases.length]).toEqual([13, 12]);
  });

  test('an unknown app or channel is refused', async () => {
    const attempt = (parts: { app?: string; channel?: string }) =>
      ledger.publishRelease({
        scope: tenant.organizationId,
        input: newRelease(tenant, '1.0.0', parts),
        actor: PUBLISHER,
      });
    for (const name of UNKNOWN_NAMES) {
      expect(await attempt({ app: name })).toEqual(fail('unknownApp'));
      expect(await attempt({ channel: name })).toEqual(fail('unknownChannel'));
    }
  });
}
