// Rules of the ledger port for what is read of releases: snapshots, lists and the audit.

import { describe, expect, test } from 'vitest';
import { fail } from '../../../src/contract/failure.ts';
import type { Targeting } from '../../../src/contract/resource.ts';
import {
  createTenant,
  expectValue,
  ISO,
  OPERATOR,
  tenantOfEach,
  UNKNOWN_NAMES,
} from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

const NOT_MINE: Targeting = { matchLabels: { ring: ['1'] }, matchExpressions: [] };

export function describeReleaseReads({ database, ledger }: LedgerUnderTest): void {
  const tenant = tenantOfEach(ledger);
  describe('snapshots and revisions', () => {
    test('an app is found by ref and by id; unknown apps and channels are told apart', async () => {
      const byRef = await ledger.readSnapshot(tenant.app, 'stable');
      expect(byRef).toMatchObject({ appRef: tenant.app, revision: 1, releases: [] });
      expect(await ledger.readSnapshot(tenant.appId, 'stable')).toEqual(byRef);
      for (const name of UNKNOWN_NAMES) {
        expect(await ledger.readSnapshot(name, 'stable')).toBe('unknown-app');
        expect(await ledger.readSnapshot(tenant.app, name)).toBe('unknown-channel');
      }
    });

    test('revisions are read by channel; channels that do not exist are left out', async () => {
      const { changed } = await tenant.release('1.0.0');
      const id = changed[0]?.channelId ?? '';
      expect(await ledger.readRevisions([id, ...UNKNOWN_NAMES, '{a,"b'])).toEqual({
        epoch: 0,
        revisions: new Map([[id, 2]]),
      });
      expect(await ledger.readRevisions([])).toEqual({ epoch: 0, revisions: new Map() });
    });
  });

  describe('listing releases', () => {
    const everything = { app: undefined, channel: undefined, page: 1, perPage: 100 };

    test('newest first by creation, then by id; pages do not overlap', async () => {
      const statuses = ['published', 'paused', 'deprecated', 'rolled_back'] as const;
      for (let index = 0; index < 7; index++) {
        await tenant.release(`1.${index}.0`, {
          status: statuses[index % 4] ?? 'published',
        });
      }
      // All releases get one creation time, so that the second rule of the order decides.
      await database.query('ALTER TABLE releases DISABLE TRIGGER USER');
      await database.query(
        `UPDATE releases SET created_at = '2026-01-02T03:04:05.678Z'
         WHERE canonical_version IN ('1.1.0', '1.2.0', '1.3.0')
           AND channel_id IN (SELECT id FROM channels WHERE app_id = $1)`,
        [tenant.appId],
      );
      await database.query('ALTER TABLE releases ENABLE TRIGGER USER');
      const whole = await ledger.listReleases(tenant.organizationId, everything);
      expect(whole.total).toBe(7);
      const keys = whole.releases.map(({ createdAt, id }) => `${createdAt} ${id}`);
      expect(keys).toEqual([...keys].sort().reverse());
      expect(whole.releases.at(-1)?.createdAt).toBe('2026-01-02T03:04:05.678Z');
      const pages = [];
      for (const page of [1, 2, 3, 4, 2 ** 53, 1e300]) {
        const filter = { ...everything, page, perPage: 3 };
        const { releases, total } = await ledger.listReleases(tenant.organizationId, filter);
        expect(total).toBe(7);
        pages.push(releases.map(({ id }) => id));
      }
      expect(pages.map((ids) => ids.length)).toEqual([3, 3, 1, 0, 0, 0]);
      expect(pages.flat()).toEqual(whole.releases.map(({ id }) => id));
    });

    test('app (ref or id) and channel filter; unknown ones give an empty page', async () => {
      const tenant = await createTenant(ledger, ['stable', 'beta']);
      const { organizationId } = tenant;
      const artifacts = [
        { platform: 'linux', size: 3 },
        { platform: 'darwin', arch: 'aarch64' },
      ];
      const { value } = await tenant.release('1.0.0', { channel: 'beta', artifacts });
      await tenant.release('1.0.0');
      for (const app of [tenant.app, tenant.appId]) {
        const filter = { ...everything, app, channel: 'beta' };
        expect(await ledger.listReleases(organizationId, filter)).toEqual({
          releases: [value],
          total: 1,
        });
      }
      for (const name of UNKNOWN_NAMES) {
        for (const filter of [{ app: name }, { channel: name }]) {
          expect(await ledger.listReleases(organizationId, { ...everything, ...filter })).toEqual({
            releases: [],
            total: 0,
          });
        }
      }
    });
  });

  describe('audit', () => {
    test('every change is told once, newest first, with who, what, before and after', async () => {
      const { organizationId, app } = tenant;
      await ledger.createChannel(app, 'beta', OPERATOR);
      await tenant.setChannel({ defaultRollout: 10 }, 'beta');
      const key = { organizationId, name: 'ci', prefix: `audit-${app}`, secretHash: 'h' };
      const { id } = expectValue(await ledger.createKey(key, OPERATOR));
      await tenant.release('1.2.0', { artifacts: [{ platform: 'linux' }] });
      await tenant.serve('1.2.0', { rollout: 5, targets: NOT_MINE });
      const { revokedAt } = expectValue(await ledger.revokeKey(id, OPERATOR));
      const entries = await tenant.audit();
      const serving = { rolloutPct: 100, status: 'published', targets: null };
      const place = { id: expect.stringMatching(/^\d+$/), at: expect.stringMatching(ISO) };
      const by = (actor: string, ...[action, subject, before, after]: unknown[]) => ({
        ...{ ...place, actor, action, subject, before, after, reason: null, requestId: null },
      });
      const operator = (...told: unknown[]) => by('admin-token', ...told);
      const publisher = (...told: unknown[]) => by('account:publisher@example.com', ...told);
      const release = `${app}/stable@1.2.0`;
      const policy = (defaultRollout: number) => ({
        ...{ minimumSupportedVersion: null, updateMode: 'optional', requireSignature: false },
        ...{ follows: null, defaultRollout, approvals: 'none', approvalDays: 7, ddi: null },
      });
      const made = { id: tenant.appId, ref: app, name: `App ${app}`, channels: ['stable'] };
      expect(entries).toEqual([
        operator('key.revoke', id, { name: 'ci', revokedAt: null }, { name: 'ci', revokedAt }),
        publisher('release.serve', release, serving, {
          ...{ rolloutPct: 5, status: 'published', targets: NOT_MINE },
        }),
        publisher('release.publish', release, null, { version: '1.2.0', ...serving, artifacts: 1 }),
        operator('key.create', id, null, { name: 'ci', prefix: key.prefix }),
        operator('channel.update', `${app}/beta`, policy(100), policy(10)),
        operator('channel.create', `${app}/beta`, null, policy(100)),
        operator('app.create', app, null, made),
        operator('organization.create', organizationId, null, { name: `Org of ${app}` }),
      ]);
      const newest = expectValue(await ledger.listAudit(organizationId, { limit: 2 })).entries;
      expect(newest).toEqual(entries.slice(0, 2));
      for (const name of UNKNOWN_NAMES) {
        expect(await ledger.listAudit(name, { limit: 10 })).toEqual(fail('unknownOrganization'));
      }
    });
  });
}
