// Rules of the ledger port, run unchanged on every database.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fail, isFailure } from '../../src/contract/failure.ts';
import type { Artifact, Targeting } from '../../src/contract/resource.ts';
import type { Database } from '../../src/ledger/database.ts';
import { migrate } from '../../src/ledger/migrate.ts';
import { createSqlLedger } from '../../src/ledger/sql-ledger.ts';
import type { Ledger } from '../../src/ports/ledger.ts';
import {
  createTenant,
  expectValue,
  newRelease,
  OPERATOR,
  PUBLISHER,
  publish,
  readStable,
  serve,
  type TestTenant,
} from './ledger-fixture.ts';
import type { TestDatabase } from './test-database.ts';

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const UNKNOWN_NAMES = ['nobody', '', 'nul\u0000', "quote'--", '\ud800', 'x'.repeat(10_000)];
/** First states of a channel: no test of this suite raises the epoch. */
const at = (revision: number) => ({ epoch: 0, revision });
const NOT_MINE: Targeting = { matchLabels: { ring: ['1'] }, matchExpressions: [] };

/** Declares the suite; `open` gives an empty database. */
export function describeLedger(name: string, open: () => Promise<TestDatabase>): void {
  describe(`ledger on ${name}`, () => {
    let opened: TestDatabase;
    let database: Database;
    let ledger: Ledger;

    beforeAll(async () => {
      opened = await open();
      database = opened.database;
      await migrate(database);
      ledger = createSqlLedger(database);
    });
    afterAll(() => opened?.dispose());

    async function auditOf(tenant: TestTenant) {
      const page = await ledger.listAudit(tenant.organizationId, { limit: 100 });
      return expectValue(page).entries;
    }

    async function revisionOf(tenant: TestTenant): Promise<number> {
      return (await readStable(ledger, tenant)).revision;
    }

    describe('organizations and apps', () => {
      test('an app starts with its channels at revision 1, in the order they were given', async () => {
        const made = await ledger.createOrganization('Acme', OPERATOR);
        const { id: organizationId } = expectValue(made);
        const channels = ['stable', 'beta', 'stable'];
        const app = { organizationId, ref: 'acme', name: 'Acme', channels };
        const { value, changed } = expectValue(await ledger.createApp(app, OPERATOR));
        expect(value).toEqual({
          id: value.id,
          name: 'Acme',
          ref: 'acme',
          channels: ['stable', 'beta'],
        });
        expect(value.id).toMatch(/^app_[0-9a-hjkmnp-tv-z]{26}$/);
        expect(
          changed.map(({ appRef, channel, revision }) => ({ appRef, channel, revision })),
        ).toEqual([
          { appRef: 'acme', channel: 'stable', revision: 1 },
          { appRef: 'acme', channel: 'beta', revision: 1 },
        ]);
        const ids = changed.map(({ channelId }) => channelId);
        expect([...(await ledger.readRevisions(ids)).revisions.keys()].sort()).toEqual(ids.sort());
      });

      test('a ref belongs to one organization, and a refused app leaves nothing', async () => {
        const first = await createTenant(ledger);
        const second = await createTenant(ledger);
        const before = await auditOf(second);
        for (const ref of [first.app, first.appId]) {
          const app = {
            organizationId: second.organizationId,
            ref,
            name: 'Copy',
            channels: ['new'],
          };
          expect(await ledger.createApp(app, OPERATOR)).toEqual(fail('refTaken'));
        }
        expect(await auditOf(second)).toEqual(before);
        expect(await ledger.listApps(second.organizationId)).toHaveLength(1);
      });

      test('of several callers at once with one ref exactly one gets it', async () => {
        const { organizationId } = await createTenant(ledger);
        const app = {
          organizationId,
          ref: `race-${organizationId}`,
          name: 'Race',
          channels: ['stable'],
        };
        const outcomes = await Promise.all(
          Array.from({ length: 8 }, () => ledger.createApp(app, OPERATOR)),
        );
        const refused = outcomes.filter(isFailure);
        expect(refused).toEqual(Array.from({ length: 7 }, () => fail('refTaken')));
      });

      test('an app of an unknown organization is refused', async () => {
        for (const organizationId of UNKNOWN_NAMES) {
          const app = { organizationId, ref: 'orphan', name: 'Orphan', channels: [] };
          expect(await ledger.createApp(app, OPERATOR)).toEqual(fail('unknownOrganization'));
        }
      });

      test('apps are listed by ref with their channels by name, of one organization', async () => {
        const { organizationId, app } = await createTenant(ledger, ['stable', 'beta', 'Alpha']);
        await createTenant(ledger);
        const extra = { organizationId, ref: `Z-${app}`, name: 'Z', channels: [] };
        expectValue(await ledger.createApp(extra, OPERATOR));
        const listed = await ledger.listApps(organizationId);
        expect(listed.map(({ ref, channels }) => ({ ref, channels }))).toEqual([
          { ref: `Z-${app}`, channels: [] },
          { ref: app, channels: ['Alpha', 'beta', 'stable'] },
        ]);
        for (const name of UNKNOWN_NAMES) expect(await ledger.listApps(name)).toEqual([]);
      });
    });

    describe('channels', () => {
      test('a new channel has the defaults and revision 1; the app is found by ref and by id', async () => {
        const tenant = await createTenant(ledger);
        for (const [app, name] of [
          [tenant.app, 'beta'],
          [tenant.appId, 'nightly'],
        ] as const) {
          const created = expectValue(await ledger.createChannel(app, name, OPERATOR));
          expect(created.value).toEqual({
            app: tenant.app,
            name,
            minimumSupportedVersion: null,
            defaultRollout: 100,
            updateMode: 'optional',
            requireSignature: false,
            follows: null,
          });
          expect(created.changed).toMatchObject([
            { appRef: tenant.app, channel: name, revision: 1 },
          ]);
        }
      });

      test('a channel that exists is refused, and one of an unknown app', async () => {
        const tenant = await createTenant(ledger);
        const before = await auditOf(tenant);
        const exists = await ledger.createChannel(tenant.app, 'stable', OPERATOR);
        expect(exists).toEqual(fail('channelExists'));
        expect(await auditOf(tenant)).toEqual(before);
        for (const app of UNKNOWN_NAMES) {
          expect(await ledger.createChannel(app, 'x', OPERATOR)).toEqual(fail('unknownApp'));
        }
      });

      test('an update changes what it names, bumps the revision and shows in the snapshot', async () => {
        const tenant = await createTenant(ledger);
        const change = {
          minimumSupportedVersion: '1.2',
          updateMode: 'recommended',
          requireSignature: true,
          follows: null,
        } as const;
        const { value, changed } = expectValue(
          await ledger.updateChannel(tenant.appId, 'stable', change, OPERATOR),
        );
        expect(value).toEqual({ app: tenant.app, name: 'stable', defaultRollout: 100, ...change });
        expect(changed).toMatchObject([{ appRef: tenant.app, channel: 'stable', revision: 2 }]);
        expect(await readStable(ledger, tenant)).toMatchObject({ revision: 2, ...change });
        const cleared = await ledger.updateChannel(
          tenant.app,
          'stable',
          { minimumSupportedVersion: null, defaultRollout: 0 },
          OPERATOR,
        );
        expect(expectValue(cleared).value).toMatchObject({
          minimumSupportedVersion: null,
          defaultRollout: 0,
          updateMode: 'recommended',
          requireSignature: true,
          follows: null,
        });
      });

      test('an update that changes nothing is neither audited nor a revision', async () => {
        const tenant = await createTenant(ledger);
        const before = await auditOf(tenant);
        for (const change of [{}, { defaultRollout: 100, minimumSupportedVersion: null }]) {
          const { changed } = expectValue(
            await ledger.updateChannel(tenant.app, 'stable', change, OPERATOR),
          );
          expect(changed).toEqual([]);
        }
        expect(await revisionOf(tenant)).toBe(1);
        expect(await auditOf(tenant)).toEqual(before);
      });

      test('an update of an unknown app or channel is refused', async () => {
        const tenant = await createTenant(ledger);
        for (const name of UNKNOWN_NAMES) {
          const change = { defaultRollout: 1 };
          expect(await ledger.updateChannel(name, 'stable', change, OPERATOR)).toEqual(
            fail('unknownApp'),
          );
          expect(await ledger.updateChannel(tenant.app, name, change, OPERATOR)).toEqual(
            fail('unknownChannel'),
          );
        }
      });
    });

    describe('keys', () => {
      async function createKey(tenant: TestTenant, prefix: string) {
        const { organizationId } = tenant;
        const key = { organizationId, name: 'ci', prefix, secretHash: `hash-of-${prefix}` };
        return expectValue(await ledger.createKey(key, OPERATOR));
      }

      test('a key is found by its prefix, revoked or not', async () => {
        const tenant = await createTenant(ledger);
        const prefix = `pre-${tenant.app}`;
        const key = await createKey(tenant, prefix);
        expect(key).toEqual({ id: key.id, name: 'ci', prefix });
        const stored = {
          id: key.id,
          name: 'ci',
          organizationId: tenant.organizationId,
          secretHash: `hash-of-${prefix}`,
          revokedAt: null,
          isOver: false,
          appIds: null,
          may: null,
        };
        expect(await ledger.findKey(prefix)).toEqual(stored);
        const { revokedAt } = expectValue(await ledger.revokeKey(key.id, OPERATOR));
        expect(revokedAt).toMatch(ISO);
        expect(await ledger.findKey(prefix)).toEqual({ ...stored, revokedAt });
        for (const name of UNKNOWN_NAMES) expect(await ledger.findKey(name)).toBeUndefined();
      });

      test('revoking again answers the first time, and is audited once', async () => {
        const tenant = await createTenant(ledger);
        const { id } = await createKey(tenant, `twice-${tenant.app}`);
        const outcomes = await Promise.all(
          Array.from({ length: 5 }, () => ledger.revokeKey(id, OPERATOR)),
        );
        const times = outcomes.map((outcome) => expectValue(outcome).revokedAt);
        expect(new Set(times).size).toBe(1);
        const audit = await auditOf(tenant);
        expect(audit.filter(({ action }) => action === 'key.revoke')).toHaveLength(1);
      });

      test('an unknown key, and a key of an unknown organization, are refused', async () => {
        for (const name of UNKNOWN_NAMES) {
          expect(await ledger.revokeKey(name, OPERATOR)).toEqual(fail('unknownKey'));
          const key = { organizationId: name, name: 'ci', prefix: 'p', secretHash: 'h' };
          expect(await ledger.createKey(key, OPERATOR)).toEqual(fail('unknownOrganization'));
        }
      });

      test('no hash of a secret reaches the audit', async () => {
        const tenant = await createTenant(ledger);
        const { id } = await createKey(tenant, `quiet-${tenant.app}`);
        await ledger.revokeKey(id, OPERATOR);
        expect(JSON.stringify(await auditOf(tenant))).not.toContain('hash-of-');
      });
    });

    describe('publishing', () => {
      test('a release comes back whole, with exactly the fields that it was given', async () => {
        const tenant = await createTenant(ledger);
        const artifacts: Artifact[] = [
          { platform: 'linux' },
          {
            platform: 'darwin',
            arch: 'aarch64',
            url: 'https://example.com/a?b=c',
            sha512: 'abc==',
            size: Number.MAX_SAFE_INTEGER,
            signature: '"quoted"\n',
          },
          {
            platform: 'linux',
            arch: '',
            format: 'deb',
            sha256: 'ab'.repeat(32),
            sha1: 'cd'.repeat(20),
            minimumSystemVersion: '10.15',
            buildVersion: '7',
          },
        ];
        const notes = '# Notes\n\u{1F680} "quoted"';
        const { value, changed } = await publish(ledger, tenant, '1.2.0', {
          version: 'v1.2',
          notes,
          artifacts,
          app: tenant.appId,
        });
        expect(value).toEqual({
          id: value.id,
          app: tenant.app,
          channel: 'stable',
          version: 'v1.2',
          notes,
          status: 'published',
          rolloutPct: 100,
          createdAt: value.createdAt,
          artifacts,
        });
        expect(Object.keys(value)).toEqual([
          'id',
          'app',
          'channel',
          'version',
          'notes',
          'status',
          'rolloutPct',
          'createdAt',
          'artifacts',
        ]);
        expect(value.createdAt).toMatch(ISO);
        expect(Math.abs(Date.parse(value.createdAt) - Date.now())).toBeLessThan(60_000);
        expect(changed).toMatchObject([{ appRef: tenant.app, channel: 'stable', revision: 2 }]);
        const { id, version, createdAt } = value;
        expect(await readStable(ledger, tenant)).toEqual({
          appId: tenant.appId,
          appRef: tenant.app,
          channelId: changed[0]?.channelId,
          channel: 'stable',
          epoch: 0,
          revision: 2,
          updateMode: 'optional',
          minimumSupportedVersion: null,
          requireSignature: false,
          follows: null,
          releases: [
            {
              id,
              edition: expect.stringMatching(/^[0-9a-f]{24}$/),
              version,
              notes,
              status: 'published',
              rolloutPct: 100,
              targets: null,
              offered: false,
              followed: false,
              createdAt,
              artifacts,
            },
          ],
        });
      });

      test("the channel's default rollout counts unless the release names its own", async () => {
        const tenant = await createTenant(ledger);
        await ledger.updateChannel(tenant.app, 'stable', { defaultRollout: 5 }, OPERATOR);
        expect((await publish(ledger, tenant, '1.0.0')).value.rolloutPct).toBe(5);
        const own = await publish(ledger, tenant, '1.1.0', { rolloutPct: 0, status: 'paused' });
        expect(own.value).toMatchObject({ rolloutPct: 0, status: 'paused' });
      });

      test('targets keep the order of their keys', async () => {
        const tenant = await createTenant(ledger);
        const targets: Targeting = {
          matchLabels: { zone: ['b', 'a'], area: ['c'] },
          matchExpressions: [{ key: '$version', operator: 'VersionGte', values: ['1.0'] }],
        };
        await publish(ledger, tenant, '1.0.0', { targets });
        const [release] = (await readStable(ledger, tenant)).releases;
        expect(JSON.stringify(release?.targets)).toBe(JSON.stringify(targets));
      });

      test('a canonical version is unique per channel, and a refused publish leaves nothing', async () => {
        const tenant = await createTenant(ledger, ['stable', 'beta']);
        await publish(ledger, tenant, '1.2.0');
        const audit = await auditOf(tenant);
        const again = newRelease(tenant, '1.2.0', {
          version: 'v1.2',
          artifacts: [{ platform: 'x' }],
        });
        const outcome = await ledger.publishRelease(tenant.organizationId, again, PUBLISHER);
        expect(outcome).toEqual(fail('versionExists'));
        expect(await revisionOf(tenant)).toBe(2);
        expect(await auditOf(tenant)).toEqual(audit);
        await publish(ledger, tenant, '1.2.0', { channel: 'beta' });
      });

      test('of 20 publishes of one version at once exactly one lands', async () => {
        const tenant = await createTenant(ledger);
        const release = newRelease(tenant, '3.0.0');
        const outcomes = await Promise.all(
          Array.from({ length: 20 }, () =>
            ledger.publishRelease(tenant.organizationId, release, PUBLISHER),
          ),
        );
        expect(outcomes.filter(isFailure)).toEqual(
          Array.from({ length: 19 }, () => fail('versionExists')),
        );
        expect(await readStable(ledger, tenant)).toMatchObject({ revision: 2, releases: [{}] });
      });

      test('publishes of different versions at once all land, each with its own revision', async () => {
        const tenant = await createTenant(ledger);
        const published = await Promise.all(
          Array.from({ length: 20 }, (_, index) => publish(ledger, tenant, `1.${index}.0`)),
        );
        const revisions = published.map(({ changed }) => changed[0]?.revision ?? 0);
        expect(revisions.sort((a, b) => a - b)).toEqual(
          Array.from({ length: 20 }, (_, index) => index + 2),
        );
        const { revision, releases } = await readStable(ledger, tenant);
        expect(revision).toBe(21);
        expect(releases).toHaveLength(20);
      });

      test('an unknown app or channel is refused', async () => {
        const tenant = await createTenant(ledger);
        for (const name of UNKNOWN_NAMES) {
          const noApp = newRelease({ ...tenant, app: name }, '1.0.0');
          expect(await ledger.publishRelease(tenant.organizationId, noApp, PUBLISHER)).toEqual(
            fail('unknownApp'),
          );
          const noChannel = newRelease(tenant, '1.0.0', { channel: name });
          expect(await ledger.publishRelease(tenant.organizationId, noChannel, PUBLISHER)).toEqual(
            fail('unknownChannel'),
          );
        }
      });
    });

    describe('serving control', () => {
      test('a change is stored, bumps the revision and is answered in full', async () => {
        const tenant = await createTenant(ledger);
        await publish(ledger, tenant, '1.0.0', { version: 'v1' });
        const change = { rollout: 30, status: 'paused', targets: NOT_MINE } as const;
        const { value, changed } = expectValue(await serve(ledger, tenant, '1.0.0', change));
        expect(value).toEqual({
          app: tenant.app,
          channel: 'stable',
          version: 'v1',
          rolloutPct: 30,
          status: 'paused',
          targets: NOT_MINE,
        });
        expect(changed).toMatchObject([{ appRef: tenant.app, channel: 'stable', revision: 3 }]);
        const { revision, releases } = await readStable(ledger, tenant);
        expect(revision).toBe(3);
        expect(releases).toMatchObject([{ rolloutPct: 30, status: 'paused', targets: NOT_MINE }]);
        const cleared = expectValue(await serve(ledger, tenant, '1.0.0', { targets: null }));
        expect(cleared.value.targets).toBeNull();
      });

      test('a refused transition leaves nothing: no state, no revision, no audit', async () => {
        const tenant = await createTenant(ledger);
        await publish(ledger, tenant, '1.0.0');
        await serve(ledger, tenant, '1.0.0', { status: 'rolled_back' });
        const before = { snapshot: await readStable(ledger, tenant), audit: await auditOf(tenant) };
        const refused = await serve(ledger, tenant, '1.0.0', { rollout: 1, status: 'published' });
        expect(refused).toEqual(fail('rolledBack'));
        expect({
          snapshot: await readStable(ledger, tenant),
          audit: await auditOf(tenant),
        }).toEqual(before);
      });

      test('a transition that throws leaves nothing, and the ledger goes on', async () => {
        const tenant = await createTenant(ledger);
        await publish(ledger, tenant, '1.0.0');
        const bug = serve(ledger, tenant, '1.0.0', () => {
          throw new Error('a bug');
        });
        await expect(bug).rejects.toThrow('a bug');
        expect(await revisionOf(tenant)).toBe(2);
        expectValue(await serve(ledger, tenant, '1.0.0', { rollout: 7 }));
      });

      test('a transition that changes nothing is neither audited nor a revision', async () => {
        const tenant = await createTenant(ledger);
        await publish(ledger, tenant, '1.0.0', { targets: NOT_MINE });
        const audit = await auditOf(tenant);
        const change = { rollout: 100, status: 'published', targets: NOT_MINE } as const;
        const { value, changed } = expectValue(await serve(ledger, tenant, '1.0.0', change));
        expect(value).toMatchObject({ rolloutPct: 100, status: 'published' });
        expect(changed).toEqual([]);
        expect(await revisionOf(tenant)).toBe(2);
        expect(await auditOf(tenant)).toEqual(audit);
      });

      test('changes at once to one release apply one after the other, and none is lost', async () => {
        const tenant = await createTenant(ledger);
        await publish(ledger, tenant, '1.0.0', { rolloutPct: 0 });
        await Promise.all(
          Array.from({ length: 20 }, () =>
            serve(ledger, tenant, '1.0.0', (now) => ({ ...now, rolloutPct: now.rolloutPct + 1 })),
          ),
        );
        const { revision, releases } = await readStable(ledger, tenant);
        expect(releases[0]?.rolloutPct).toBe(20);
        expect(revision).toBe(22);
      });

      test('an unknown app, channel or release is refused before the transition is asked', async () => {
        const tenant = await createTenant(ledger);
        await publish(ledger, tenant, '1.0.0');
        const never = () => {
          throw new Error('asked');
        };
        const known = { app: tenant.app, channel: 'stable', canonicalVersion: '1.0.0' };
        for (const name of UNKNOWN_NAMES) {
          const call = (part: object) =>
            ledger.controlServing(tenant.organizationId, { ...known, ...part }, never, PUBLISHER);
          expect(await call({ app: name })).toEqual(fail('unknownApp'));
          expect(await call({ channel: name })).toEqual(fail('unknownChannel'));
          expect(await call({ canonicalVersion: name })).toEqual(fail('unknownRelease'));
        }
      });
    });

    describe('first offers', () => {
      async function published(parts: Parameters<typeof publish>[3] = {}) {
        const tenant = await createTenant(ledger);
        const { value, changed } = await publish(ledger, tenant, '1.0.0', parts);
        return { tenant, releaseId: value.id, channelId: changed[0]?.channelId ?? '' };
      }

      async function isOffered(tenant: TestTenant): Promise<boolean | undefined> {
        return (await readStable(ledger, tenant)).releases[0]?.offered;
      }

      test('at the revision it was decided from, it is recorded, and moves no revision', async () => {
        const { tenant, releaseId, channelId } = await published();
        expect(await isOffered(tenant)).toBe(false);
        expect(await ledger.recordFirstOffer(channelId, releaseId, at(2))).toBe(true);
        expect(await isOffered(tenant)).toBe(true);
        expect(await revisionOf(tenant)).toBe(2);
      });

      test('repeated or at once, it is recorded once and true for everybody', async () => {
        const { tenant, releaseId, channelId } = await published();
        const record = () => ledger.recordFirstOffer(channelId, releaseId, at(2));
        const outcomes = await Promise.all(Array.from({ length: 12 }, record));
        expect(new Set(outcomes)).toEqual(new Set([true]));
        const read = () =>
          database.query('SELECT offered_at, xmin::text FROM releases WHERE id = $1', [releaseId]);
        const row = await read();
        expect(await record()).toBe(true);
        expect(await read()).toEqual(row);
        expect(await isOffered(tenant)).toBe(true);
      });

      test('at another revision it is not recorded', async () => {
        const { tenant, releaseId, channelId } = await published();
        for (const revision of [1, 3]) {
          expect(await ledger.recordFirstOffer(channelId, releaseId, at(revision))).toBe(false);
        }
        expect(await isOffered(tenant)).toBe(false);
      });

      test('at the revision of another epoch it is not recorded', async () => {
        const { tenant, releaseId, channelId } = await published();
        const order = { epoch: 1, revision: 2 };
        expect(await ledger.recordFirstOffer(channelId, releaseId, order)).toBe(false);
        expect(await isOffered(tenant)).toBe(false);
      });

      test('only a published release of that channel can be offered', async () => {
        const { tenant, releaseId, channelId } = await published({ status: 'paused' });
        const other = await published();
        expect(await ledger.recordFirstOffer(channelId, releaseId, at(2))).toBe(false);
        expect(await ledger.recordFirstOffer(other.channelId, releaseId, at(2))).toBe(false);
        expect(await ledger.recordFirstOffer(channelId, 'nul\u0000', at(2))).toBe(false);
        expect(await isOffered(tenant)).toBe(false);
      });

      test('once offered, the transition is told and narrowing is refused', async () => {
        const { tenant, releaseId, channelId } = await published({ rolloutPct: 50 });
        await ledger.recordFirstOffer(channelId, releaseId, at(2));
        expect(await serve(ledger, tenant, '1.0.0', { rollout: 49 })).toMatchObject({
          failure: 'narrowing',
        });
        expectValue(await serve(ledger, tenant, '1.0.0', { rollout: 51 }));
        expect(await isOffered(tenant)).toBe(true);
      });

      test('whether a release was offered is never taken from the transition', async () => {
        const { tenant, releaseId, channelId } = await published();
        await serve(ledger, tenant, '1.0.0', (now) => ({ ...now, rolloutPct: 9, offered: true }));
        expect(await isOffered(tenant)).toBe(false);
        await ledger.recordFirstOffer(channelId, releaseId, at(3));
        await serve(ledger, tenant, '1.0.0', (now) => ({ ...now, rolloutPct: 10, offered: false }));
        expect(await isOffered(tenant)).toBe(true);
      });

      test('raced against a narrowing, either the offer fails or the narrowing is refused', async () => {
        for (let round = 0; round < 15; round++) {
          const { tenant, releaseId, channelId } = await published({ rolloutPct: 50 });
          const [isRecorded, outcome] = await Promise.all([
            ledger.recordFirstOffer(channelId, releaseId, at(2)),
            serve(ledger, tenant, '1.0.0', { rollout: 10 }),
          ]);
          expect(isRecorded).toBe(isFailure(outcome));
          const [release] = (await readStable(ledger, tenant)).releases;
          expect(release).toMatchObject(
            isRecorded ? { offered: true, rolloutPct: 50 } : { offered: false, rolloutPct: 10 },
          );
        }
      });
    });

    describe('snapshots and revisions', () => {
      test('an app is found by ref and by id; unknown apps and channels are told apart', async () => {
        const tenant = await createTenant(ledger);
        const byRef = await ledger.readSnapshot(tenant.app, 'stable');
        expect(byRef).toMatchObject({ appRef: tenant.app, revision: 1, releases: [] });
        expect(await ledger.readSnapshot(tenant.appId, 'stable')).toEqual(byRef);
        for (const name of UNKNOWN_NAMES) {
          expect(await ledger.readSnapshot(name, 'stable')).toBe('unknown-app');
          expect(await ledger.readSnapshot(tenant.app, name)).toBe('unknown-channel');
        }
      });

      test('releases of every status are in it, oldest first', async () => {
        const tenant = await createTenant(ledger);
        const statuses = ['published', 'paused', 'deprecated', 'rolled_back'] as const;
        for (const [index, status] of statuses.entries()) {
          await publish(ledger, tenant, `1.${index}.0`, { status });
        }
        const { releases } = await readStable(ledger, tenant);
        const byTime = releases.map(({ createdAt }) => createdAt);
        expect(byTime).toEqual([...byTime].sort());
        expect(releases.map(({ status }) => status).sort()).toEqual([...statuses].sort());
      });

      test('10,000 releases with artifacts are read within the time limit', async () => {
        const tenant = await createTenant(ledger);
        const { changed } = await publish(ledger, tenant, '0.0.1');
        await database.query(
          `INSERT INTO releases
             (id, channel_id, version, canonical_version, notes, status, rollout_pct)
           SELECT $1 || n, $1, '1.0.' || n, '1.0.' || n, repeat('note ', 20), 'published', 100
           FROM generate_series(1, 10000) AS n`,
          [changed[0]?.channelId],
        );
        await database.query(
          `INSERT INTO artifacts (release_id, position, platform, size)
           SELECT releases.id, position, 'linux', 5 FROM releases, generate_series(0, 2) AS position
           WHERE channel_id = $1 AND version <> '0.0.1'`,
          [changed[0]?.channelId],
        );
        const { releases } = await readStable(ledger, tenant);
        expect(releases).toHaveLength(10_001);
        expect(releases[9000]?.artifacts).toEqual(
          Array.from({ length: 3 }, () => ({ platform: 'linux', size: 5 })),
        );
      });

      test('revisions are read by channel; channels that do not exist are left out', async () => {
        const tenant = await createTenant(ledger);
        const { changed } = await publish(ledger, tenant, '1.0.0');
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
        const tenant = await createTenant(ledger);
        for (let index = 0; index < 7; index++) await publish(ledger, tenant, `1.${index}.0`);
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
        for (const page of [1, 2, 3, 4]) {
          const filter = { ...everything, page, perPage: 3 };
          const { releases, total } = await ledger.listReleases(tenant.organizationId, filter);
          expect(total).toBe(7);
          pages.push(releases.map(({ id }) => id));
        }
        expect(pages.map((ids) => ids.length)).toEqual([3, 3, 1, 0]);
        expect(pages.flat()).toEqual(whole.releases.map(({ id }) => id));
      });

      test('app (ref or id) and channel filter; unknown ones give an empty page', async () => {
        const tenant = await createTenant(ledger, ['stable', 'beta']);
        const { organizationId } = tenant;
        const artifacts = [
          { platform: 'linux', size: 3 },
          { platform: 'darwin', arch: 'aarch64' },
        ];
        const { value } = await publish(ledger, tenant, '1.0.0', { channel: 'beta', artifacts });
        await publish(ledger, tenant, '1.0.0');
        for (const app of [tenant.app, tenant.appId]) {
          const filter = { ...everything, app, channel: 'beta' };
          expect(await ledger.listReleases(organizationId, filter)).toEqual({
            releases: [value],
            total: 1,
          });
        }
        for (const name of UNKNOWN_NAMES) {
          for (const filter of [{ app: name }, { channel: name }]) {
            expect(await ledger.listReleases(organizationId, { ...everything, ...filter })).toEqual(
              { releases: [], total: 0 },
            );
          }
        }
      });

      test('a page far beyond the last is empty', async () => {
        const tenant = await createTenant(ledger);
        await publish(ledger, tenant, '1.0.0');
        for (const page of [2, 2 ** 53, 1e300]) {
          const filter = { ...everything, page };
          expect(await ledger.listReleases(tenant.organizationId, filter)).toEqual({
            releases: [],
            total: 1,
          });
        }
      });
    });

    describe('tenants', () => {
      test("another organization's app is an unknown app, by ref and by id", async () => {
        const mine = await createTenant(ledger);
        const theirs = await createTenant(ledger);
        await publish(ledger, theirs, '1.0.0');
        const never = () => {
          throw new Error('asked');
        };
        for (const app of [theirs.app, theirs.appId]) {
          const release = newRelease({ ...mine, app }, '2.0.0');
          expect(await ledger.publishRelease(mine.organizationId, release, PUBLISHER)).toEqual(
            fail('unknownApp'),
          );
          const name = { app, channel: 'stable', canonicalVersion: '1.0.0' };
          expect(await ledger.controlServing(mine.organizationId, name, never, PUBLISHER)).toEqual(
            fail('unknownApp'),
          );
          const filter = { app, channel: undefined, page: 1, perPage: 100 };
          expect(await ledger.listReleases(mine.organizationId, filter)).toEqual({
            releases: [],
            total: 0,
          });
        }
        const all = { app: undefined, channel: 'stable', page: 1, perPage: 100 };
        expect((await ledger.listReleases(mine.organizationId, all)).total).toBe(0);
        expect((await ledger.listApps(mine.organizationId)).map(({ ref }) => ref)).toEqual([
          mine.app,
        ]);
        expect(await revisionOf(theirs)).toBe(2);
        const subjects = (await auditOf(mine)).map(({ subject }) => subject);
        expect(subjects.some((subject) => subject.includes(theirs.app))).toBe(false);
      });
    });

    describe('audit', () => {
      test('every change is told once, newest first, with who, what, before and after', async () => {
        const tenant = await createTenant(ledger);
        const { organizationId, app } = tenant;
        await ledger.createChannel(app, 'beta', OPERATOR);
        await ledger.updateChannel(app, 'beta', { defaultRollout: 10 }, OPERATOR);
        const key = { organizationId, name: 'ci', prefix: `audit-${app}`, secretHash: 'h' };
        const { id } = expectValue(await ledger.createKey(key, OPERATOR));
        await publish(ledger, tenant, '1.2.0', { artifacts: [{ platform: 'linux' }] });
        await serve(ledger, tenant, '1.2.0', { rollout: 5, targets: NOT_MINE });
        const { revokedAt } = expectValue(await ledger.revokeKey(id, OPERATOR));
        const entries = await auditOf(tenant);
        const policy = {
          minimumSupportedVersion: null,
          updateMode: 'optional',
          requireSignature: false,
          follows: null,
        };
        const serving = { rolloutPct: 100, status: 'published', targets: null };
        const by = (
          actor: string,
          action: string,
          subject: string,
          before: unknown,
          after: unknown,
        ) => {
          const place = { id: expect.stringMatching(/^\d+$/), at: expect.stringMatching(ISO) };
          return { ...place, actor, action, subject, before, after, reason: null, requestId: null };
        };
        expect(entries).toEqual([
          by('admin-token', 'key.revoke', id, { revokedAt: null }, { revokedAt }),
          by('account:publisher@example.com', 'release.serve', `${app}/stable@1.2.0`, serving, {
            rolloutPct: 5,
            status: 'published',
            targets: NOT_MINE,
          }),
          by('account:publisher@example.com', 'release.publish', `${app}/stable@1.2.0`, null, {
            version: '1.2.0',
            ...serving,
            artifacts: 1,
          }),
          by('admin-token', 'key.create', id, null, { name: 'ci', prefix: key.prefix }),
          by(
            'admin-token',
            'channel.update',
            `${app}/beta`,
            { ...policy, defaultRollout: 100 },
            { ...policy, defaultRollout: 10 },
          ),
          by('admin-token', 'channel.create', `${app}/beta`, null, {
            ...policy,
            defaultRollout: 100,
          }),
          by('admin-token', 'app.create', app, null, {
            id: tenant.appId,
            ref: app,
            name: `App ${app}`,
            channels: ['stable'],
          }),
          by('admin-token', 'organization.create', organizationId, null, { name: `Org of ${app}` }),
        ]);
        const newest = expectValue(await ledger.listAudit(organizationId, { limit: 2 })).entries;
        expect(newest).toEqual(entries.slice(0, 2));
      });

      test('the audit of an unknown organization is refused', async () => {
        for (const name of UNKNOWN_NAMES) {
          expect(await ledger.listAudit(name, { limit: 10 })).toEqual(fail('unknownOrganization'));
        }
      });
    });

    describe('rules that stand in the database itself', () => {
      async function offered(): Promise<string> {
        const tenant = await createTenant(ledger);
        const { value, changed } = await publish(ledger, tenant, '1.0.0', { rolloutPct: 50 });
        await ledger.recordFirstOffer(changed[0]?.channelId ?? '', value.id, at(2));
        return value.id;
      }

      const refusals = [
        ['an offered release stays offered', 'offered_at = null', 'releases_stay_offered'],
        ['an offered rollout only rises', 'rollout_pct = 49', 'releases_rollout_rises'],
        ['a version never changes', "version = '9'", 'releases_immutable'],
        ['a canonical version never changes', "canonical_version = '9'", 'releases_immutable'],
        ['notes never change', "notes = '9'", 'releases_immutable'],
        ['the creation never changes', 'created_at = now()', 'releases_immutable'],
        ['a status is one of four', "status = 'gone'", 'releases_status_check'],
        ['a rollout is at most 100', 'rollout_pct = 101', 'releases_rollout_pct_check'],
      ] as const;

      test.each(refusals)('%s', async (_rule, assignment, constraint) => {
        const id = await offered();
        const update = database.query(`UPDATE releases SET ${assignment} WHERE id = $1`, [id]);
        await expect(update).rejects.toMatchObject({ code: '23514', constraint });
      });

      test('a rolled-back release stays rolled back', async () => {
        const id = await offered();
        await database.query("UPDATE releases SET status = 'rolled_back' WHERE id = $1", [id]);
        const update = database.query("UPDATE releases SET status = 'paused' WHERE id = $1", [id]);
        await expect(update).rejects.toMatchObject({ constraint: 'releases_stay_rolled_back' });
      });

      test("a channel's revision never goes back", async () => {
        const tenant = await createTenant(ledger);
        await publish(ledger, tenant, '1.0.0');
        const update = database.query('UPDATE channels SET revision = 1 WHERE app_id = $1', [
          tenant.appId,
        ]);
        await expect(update).rejects.toMatchObject({ constraint: 'channels_revision_rises' });
      });
    });

    describe('transactions', () => {
      test('200 at once do not interleave', async () => {
        await database.query('CREATE TABLE counter (value integer NOT NULL)');
        await database.query('INSERT INTO counter VALUES (0)');
        // Read and write are separate statements: an interleaved transaction would lose an increment.
        const increment = () =>
          database.transaction(async (sql) => {
            const rows = await sql.query<{ value: number }>('SELECT value FROM counter FOR UPDATE');
            await sql.query('UPDATE counter SET value = $1', [(rows[0]?.value ?? 0) + 1]);
          });
        await Promise.all(Array.from({ length: 200 }, increment));
        expect(await database.query('SELECT value FROM counter')).toEqual([{ value: 200 }]);
      });

      test('work that swallows the error of a statement is not reported as stored', async () => {
        const work = database.transaction(async (sql) => {
          await sql.query('SELECT 1/0').catch(() => undefined);
          return 'stored';
        });
        await expect(work).rejects.toThrow('failed unnoticed');
      });

      test('a connection of a transaction that is over is of no use', async () => {
        const sql = await database.transaction(async (connection) => connection);
        await expect(sql.query('SELECT 1')).rejects.toThrow('over');
      });
    });

    test('migrating again does no harm, and a newer schema is refused', async () => {
      const tenant = await createTenant(ledger);
      await migrate(database);
      expect(await readStable(ledger, tenant)).toMatchObject({ revision: 1 });
      await database.query("INSERT INTO sluice_migrations (id, name) VALUES (900, 'later')");
      await expect(migrate(database)).rejects.toMatchObject({
        name: 'SchemaTooNew',
        message: expect.stringMatching(
          /at migration 900, but this version of Sluice knows only \d+:/,
        ),
      });
      await database.query('DELETE FROM sluice_migrations WHERE id = 900');
    });

    test('it is reachable until it is closed, and then unavailable; closing twice does no harm', async () => {
      expect(await ledger.isReachable()).toBe(true);
      const running = ledger.listApps('nobody');
      await Promise.all([ledger.close(), ledger.close()]);
      expect(await running).toEqual([]);
      expect(await ledger.isReachable()).toBe(false);
      await expect(ledger.listApps('nobody')).rejects.toMatchObject({
        name: 'Unavailable',
        store: 'ledger',
      });
      await ledger.close();
    });
  });
}
