// Rules of the ledger port for organizations, apps, channels and keys.

import { describe, expect, test } from 'vitest';
import { fail, isFailure } from '../../../src/contract/failure.ts';
import type { AppUpdate, ChannelRevision } from '../../../src/store/ledger-terms.ts';
import {
  createTenant,
  expectValue,
  ISO,
  OPERATOR,
  tenantOfEach,
  UNKNOWN_NAMES,
} from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

const byChannel = (a: ChannelRevision, b: ChannelRevision) => (a.channel < b.channel ? -1 : 1);

export function describeApps({ ledger }: LedgerUnderTest): void {
  const tenant = tenantOfEach(ledger);

  const create = (organizationId: string, ref: string, channels: readonly string[] = ['stable']) =>
    ledger.createApp({ organizationId, ref, name: `App ${ref}`, channels }, OPERATOR);

  describe('organizations and apps', () => {
    test('an app starts with its channels at revision 1, in the order they were given', async () => {
      const { organizationId } = tenant;
      const created = await create(organizationId, 'acme', ['stable', 'beta', 'stable']);
      const { value, changed } = expectValue(created);
      const channels = ['stable', 'beta'];
      expect(value).toEqual({ id: value.id, name: 'App acme', ref: 'acme', channels });
      expect(value.id).toMatch(/^app_[0-9a-hjkmnp-tv-z]{26}$/);
      expect(changed).toMatchObject(
        channels.map((channel) => ({ appRef: 'acme', channel, revision: 1 })),
      );
      const ids = changed.map(({ channelId }) => channelId);
      expect([...(await ledger.readRevisions(ids)).revisions.keys()].sort()).toEqual(ids.sort());
    });

    test('a ref belongs to one organization and one of several callers at once, and a refused app leaves nothing (§11.9)', async () => {
      const second = await createTenant(ledger);
      const before = await second.audit();
      const callers = Array.from({ length: 8 }, () =>
        create(tenant.organizationId, `race-${tenant.app}`),
      );
      const outcomes = await Promise.all(callers);
      expect(outcomes.filter(isFailure)).toEqual(Array(7).fill(fail('refTaken')));
      for (const ref of [tenant.app, tenant.appId]) {
        expect(await create(second.organizationId, ref, ['new'])).toEqual(fail('refTaken'));
      }
      expect(await second.audit()).toEqual(before);
      expect(await ledger.listApps(second.organizationId)).toHaveLength(1);
    });

    test('apps are listed by ref with their channels by name, of one organization', async () => {
      const { organizationId, app } = await createTenant(ledger, ['stable', 'beta', 'Alpha']);
      expectValue(await create(organizationId, `Z-${app}`, []));
      const listed = await ledger.listApps(organizationId);
      expect(listed.map(({ ref, channels }) => ({ ref, channels }))).toEqual([
        { ref: `Z-${app}`, channels: [] },
        { ref: app, channels: ['Alpha', 'beta', 'stable'] },
      ]);
    });
  });

  describe('channels', () => {
    test('a new channel has the defaults and revision 1; the app is found by ref and by id', async () => {
      for (const [app, name] of [
        [tenant.app, 'beta'],
        [tenant.appId, 'nightly'],
      ] as const) {
        const created = expectValue(await ledger.createChannel(app, name, OPERATOR));
        expect(created.value).toEqual({
          ...{ app: tenant.app, name, minimumSupportedVersion: null, defaultRollout: 100 },
          ...{ updateMode: 'optional', requireSignature: false, follows: null },
          ...{ approvals: 'none', approvalDays: 7, ddi: null },
        });
        expect(created.changed).toMatchObject([{ appRef: tenant.app, channel: name, revision: 1 }]);
      }
      const before = await tenant.audit();
      const again = await ledger.createChannel(tenant.app, 'stable', OPERATOR);
      expect(again).toEqual(fail('channelExists'));
      expect(await tenant.audit()).toEqual(before);
    });

    test('an update changes what it names, bumps the revision and shows in the snapshot', async () => {
      const change = {
        ...({ minimumSupportedVersion: '1.2', updateMode: 'recommended' } as const),
        ...{ requireSignature: true, follows: null },
      };
      const { value, changed } = await tenant.with({ app: tenant.appId }).setChannel(change);
      expect(value).toEqual({
        ...{ app: tenant.app, name: 'stable', defaultRollout: 100, ...change },
        ...{ approvals: 'none', approvalDays: 7, ddi: null },
      });
      expect(changed).toMatchObject([{ appRef: tenant.app, channel: 'stable', revision: 2 }]);
      expect(await tenant.stable()).toMatchObject({ revision: 2, ...change });
      const cleared = { minimumSupportedVersion: null, defaultRollout: 0 };
      expect((await tenant.setChannel(cleared)).value).toMatchObject({ ...change, ...cleared });
      // What changes nothing is neither audited nor a revision.
      const before = await tenant.audit();
      for (const none of [{}, cleared]) {
        expect((await tenant.setChannel(none)).changed).toEqual([]);
      }
      expect((await tenant.stable()).revision).toBe(3);
      expect(await tenant.audit()).toEqual(before);
    });
  });

  describe('DDI', () => {
    const setApp = async (change: AppUpdate['change']) => {
      const input = { app: tenant.app, change };
      return expectValue(await ledger.updateApp({ input, actor: OPERATOR }));
    };

    test('how devices authenticate is set for the app, and every channel serves it (§34.41)', async () => {
      expectValue(await ledger.createChannel(tenant.app, 'beta', OPERATOR));
      const moved = [
        { channel: 'beta', revision: 2 },
        { channel: 'stable', revision: 2 },
      ];
      const { value, changed } = await setApp({ ddiAuth: 'open' });
      expect(value).toMatchObject({ ref: tenant.app, ddiAuth: 'open' });
      expect([...changed].sort(byChannel)).toMatchObject(moved);
      expect(await tenant.stable()).toMatchObject({ revision: 2, ddi: null, ddiAuth: 'open' });
      for (const none of [{ ddiAuth: 'open' }, { name: 'Another' }] as const) {
        expect(await setApp(none)).toMatchObject({ value: { ddiAuth: 'open' }, changed: [] });
      }
      expect((await setApp({ ddiAuth: 'token' })).changed).toHaveLength(2);
      expect((await tenant.audit())[0]).toMatchObject({
        ...{ action: 'app.update', before: { ddiAuth: 'open' }, after: { ddiAuth: 'token' } },
      });
    });

    test('a channel answers DDI once its app says so; what a change leaves out stays, and null turns it off (§34.1, §34.49)', async () => {
      const { app } = tenant;
      const on = { app, channel: 'stable', change: { ddi: {} } };
      const before = await tenant.audit();
      const early = await ledger.updateChannel({ input: on, actor: OPERATOR });
      expect(early).toEqual(fail('ddiNeedsAuth'));
      expect((await tenant.setChannel({ ddi: null })).changed).toEqual([]);
      expect(await tenant.audit()).toEqual(before);
      await setApp({ ddiAuth: 'token' });
      const keys = { platform: 'platform', arch: 'arch', version: 'version', bundle: 'bundle' };
      const usual = {
        ...{ pollSeconds: 300, platform: 'linux', arch: null, keys, unknownVersion: 'wait' },
        ...{ retries: 2, retryAfterMinutes: 60, askDays: 7 },
      };
      const { value, changed } = await tenant.setChannel({ ddi: {} });
      expect([value.ddi, changed]).toMatchObject([usual, [{ revision: 3 }]]);
      expect((await tenant.stable()).ddi).toEqual(usual);
      await tenant.setChannel({ ddi: { retries: 0, keys: { version: 'firmware' } } });
      const own = { ...usual, retries: 0, keys: { ...keys, version: 'firmware' }, arch: 'arm' };
      expect((await tenant.setChannel({ ddi: { arch: 'arm' } })).value.ddi).toEqual(own);
      expect((await tenant.setChannel({ ddi: { retries: 0 } })).changed).toEqual([]);
      expect(await tenant.stable()).toMatchObject({ revision: 5, ddi: own, ddiAuth: 'token' });
      expect((await tenant.audit())[0]).toMatchObject({
        ...{ before: { ddi: { arch: null } }, after: { ddi: own } },
      });
      await tenant.setChannel({ ddi: null });
      expect((await tenant.stable()).ddi).toBeNull();
      expect((await tenant.setChannel({ ddi: {} })).value.ddi).toEqual(usual);
    });
  });

  describe('keys', () => {
    async function createKey(prefix: string) {
      const { organizationId } = tenant;
      const key = { organizationId, name: 'ci', prefix, secretHash: `hash-of-${prefix}` };
      return expectValue(await ledger.createKey(key, OPERATOR));
    }

    test('a key is found by its prefix, revoked or not, and no hash of a secret reaches the audit', async () => {
      const prefix = `pre-${tenant.app}`;
      const key = await createKey(prefix);
      expect(key).toEqual({ id: key.id, name: 'ci', prefix });
      const stored = {
        ...{ id: key.id, name: 'ci', organizationId: tenant.organizationId },
        ...{
          secretHash: `hash-of-${prefix}`,
          revokedAt: null,
          isOver: false,
          appIds: null,
          may: null,
        },
      };
      expect(await ledger.findKey(prefix)).toEqual(stored);
      const { revokedAt } = expectValue(await ledger.revokeKey(key.id, OPERATOR));
      expect(revokedAt).toMatch(ISO);
      expect(await ledger.findKey(prefix)).toEqual({ ...stored, revokedAt });
      expect(JSON.stringify(await tenant.audit())).not.toContain('hash-of-');
      for (const name of UNKNOWN_NAMES) {
        expect(await create(name, 'orphan', [])).toEqual(fail('unknownOrganization'));
        expect(await ledger.listApps(name)).toEqual([]);
        const own = { organizationId: name, name: 'ci', prefix: 'p', secretHash: 'h' };
        expect(await ledger.createKey(own, OPERATOR)).toEqual(fail('unknownOrganization'));
        expect(await ledger.createChannel(name, 'x', OPERATOR)).toEqual(fail('unknownApp'));
        for (const [app, channel, failure] of [
          [name, 'stable', 'unknownApp'],
          [tenant.app, name, 'unknownChannel'],
        ] as const) {
          const input = { app, channel, change: { defaultRollout: 1 } };
          expect(await ledger.updateChannel({ input, actor: OPERATOR })).toEqual(fail(failure));
        }
        expect(await ledger.findKey(name)).toBeUndefined();
        expect(await ledger.revokeKey(name, OPERATOR)).toEqual(fail('unknownKey'));
      }
    });

    test('revoking again answers the first time, and is audited once', async () => {
      const { id } = await createKey(`twice-${tenant.app}`);
      const outcomes = await Promise.all(
        Array.from({ length: 5 }, () => ledger.revokeKey(id, OPERATOR)),
      );
      expect(new Set(outcomes.map((outcome) => expectValue(outcome).revokedAt)).size).toBe(1);
      const actions = (await tenant.audit()).map(({ action }) => action);
      expect(actions.filter((action) => action === 'key.revoke')).toHaveLength(1);
    });
  });
}
