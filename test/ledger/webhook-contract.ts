// Rules of the webhooks' part of the ledger port.

import { beforeEach, describe, expect, test } from 'vitest';
import { fail } from '../../src/contract/failure.ts';
import { LIMIT } from '../../src/contract/limit.ts';
import type { Release } from '../../src/contract/resource.ts';
import type { Actor } from '../../src/ports/actor.ts';
import type { Changed } from '../../src/ports/changed.ts';
import type { NewDelivery } from '../../src/ports/webhook-ledger.ts';
import {
  createTenant,
  expectValue,
  newRelease,
  OPERATOR,
  PUBLISHER,
  readStable,
  type TestTenant,
} from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

const ARTIFACT = { platform: 'linux', arch: 'x86_64', url: 'https://x.example/a', size: 7 };
const NO_SETTINGS = { tagPrefix: null, hold: false, expect: null } as const;
const DELIVERY: NewDelivery = {
  event: 'release',
  action: 'published',
  guid: 'guid',
  outcome: 'created',
  reason: null,
  version: '1.0.0',
};

export function describeWebhooks({ database, ledger }: LedgerUnderTest): void {
  let tenant: TestTenant;
  beforeEach(async () => {
    tenant = await createTenant(ledger);
  });

  const enable = (sealedSecret: string) =>
    ledger.enableWebhook(tenant.appId, { provider: 'github', sealedSecret }, OPERATOR);

  /** Enables the webhook of a tenant's app and returns the actor of its deliveries. */
  async function integration(of = tenant) {
    const webhook = { provider: 'github', sealedSecret: 'v1.sealed' } as const;
    expectValue(await ledger.enableWebhook(of.appId, webhook, OPERATOR));
    const found = await ledger.findEnabledWebhook(of.appId, 'github');
    if (found === undefined) throw new Error('no webhook');
    const { appId, enabledAt } = found;
    return { kind: 'integration', provider: 'github', appId, enabledAt } as const;
  }

  describe('the integration', () => {
    test('is found by ref and by id once it is on, with the secret as it was given last', async () => {
      expect(await ledger.findEnabledWebhook(tenant.app, 'github')).toBeUndefined();
      const first = expectValue(await enable('v1.first'));
      expect(first).toMatchObject({ provider: 'github', enabled: true });
      const again = expectValue(await enable('v1.second'));
      expect(again).toEqual(first);
      const { appId, app: appRef, organizationId } = tenant;
      for (const app of [tenant.app, tenant.appId]) {
        const found = await ledger.findEnabledWebhook(app, 'github');
        const sealedSecret = 'v1.second';
        const enabledAt = expect.any(String);
        expect(found).toEqual({
          ...{ appId, appRef, organizationId, provider: 'github', sealedSecret, enabledAt },
          ...NO_SETTINGS,
        });
      }
    });

    test('is found no more once it is off, and its secret is gone from the database', async () => {
      await enable('v1.sealed');
      const off = expectValue(await ledger.disableWebhooks(tenant.appId, undefined, OPERATOR));
      expect(off).toMatchObject([{ enabled: false }]);
      expect(await ledger.findEnabledWebhook(tenant.app, 'github')).toBeUndefined();
      const rows = await database.query<{ sealed: string | null }>(
        'SELECT sealed_secret AS sealed FROM webhooks WHERE app_id = $1',
        [tenant.appId],
      );
      expect(rows).toEqual([{ sealed: null }]);
      expect((await ledger.readWebhooks(tenant.appId)).webhooks).toEqual(off);
    });

    test('turning off what is off, or never was on, writes no audit', async () => {
      expect(await ledger.disableWebhooks(tenant.appId, undefined, OPERATOR)).toEqual([]);
      await enable('v1.sealed');
      await ledger.disableWebhooks(tenant.appId, undefined, OPERATOR);
      await ledger.disableWebhooks(tenant.appId, undefined, OPERATOR);
      const page = await ledger.listAudit(tenant.organizationId, { limit: 100 });
      const audit = expectValue(page).entries;
      const actions = audit.map(({ action }) => action).filter((each) => each.includes('webhook'));
      expect(actions).toEqual(['webhook.disable', 'webhook.enable']);
      expect(JSON.stringify(audit)).not.toContain('v1.sealed');
    });

    test('sealed secrets are listed by app id, and replaced while they are what they were', async () => {
      const other = await createTenant(ledger);
      const apps = [tenant.appId, other.appId].toSorted();
      const [first = '', second = ''] = apps;
      for (const app of [tenant, other]) await integration(app);
      const enabledAt = async () => (await ledger.findEnabledWebhook(first, 'github'))?.enabledAt;
      const before = await enabledAt();

      const all = await ledger.listSealedSecrets(undefined, 1000);
      const listed = all.filter(({ appId }) => apps.includes(appId));
      const provider = 'github' as const;
      expect(listed).toEqual(apps.map((appId) => ({ appId, provider, sealedSecret: 'v1.sealed' })));
      const rest = await ledger.listSealedSecrets({ appId: first, provider }, 1000);
      expect(rest[0]?.appId).not.toBe(first);
      expect(await ledger.listSealedSecrets(undefined, 1)).toHaveLength(1);

      const changes = [
        { appId: first, provider, from: 'v1.sealed', to: 'v1.again' },
        { appId: second, provider, from: 'v1.other', to: 'v1.again' },
        { appId: 'nobody', provider, from: 'v1.sealed', to: 'v1.again' },
        { appId: first, provider: 'gitea' as const, from: 'v1.sealed', to: 'v1.again' },
      ];
      expect(await ledger.replaceSealedSecrets(changes)).toBe(1);
      expect(await ledger.replaceSealedSecrets(changes)).toBe(0);
      const found = await Promise.all(apps.map((app) => ledger.findEnabledWebhook(app, 'github')));
      expect(found.map((each) => each?.sealedSecret)).toEqual(['v1.again', 'v1.sealed']);
      expect(await enabledAt()).toBe(before);
      for (const app of apps) await ledger.disableWebhooks(app, undefined, OPERATOR);
      const left = await ledger.listSealedSecrets(undefined, 1000);
      expect(left.filter(({ appId }) => apps.includes(appId))).toEqual([]);
    });

    test('each code host has one of its own, which goes on and off alone', async () => {
      const { appId } = tenant;
      await enable('v1.first');
      const gitea = { provider: 'gitea', sealedSecret: 'v1.second' } as const;
      await ledger.enableWebhook(appId, gitea, OPERATOR);
      const sealed = async (provider: 'github' | 'gitea' | 'forgejo') =>
        (await ledger.findEnabledWebhook(appId, provider))?.sealedSecret;
      expect([await sealed('github'), await sealed('gitea')]).toEqual(['v1.first', 'v1.second']);
      expect(await sealed('forgejo')).toBeUndefined();
      const listed = await ledger.listSealedSecrets({ appId, provider: 'gitea' }, 1000);
      expect(listed.filter((each) => each.appId === appId)).toMatchObject([{ provider: 'github' }]);
      const off = expectValue(await ledger.disableWebhooks(appId, 'gitea', OPERATOR));
      const states = off.map(({ provider, enabled }) => [provider, enabled]);
      expect(Object.fromEntries(states)).toEqual({ gitea: false, github: true });
      expect([await sealed('github'), await sealed('gitea')]).toEqual(['v1.first', undefined]);
    });

    test('settings stay from one secret to the next, and change without one', async () => {
      const { appId } = tenant;
      const name = { appId, provider: 'github' } as const;
      expect(await ledger.updateWebhook(name, { hold: true }, OPERATOR)).toEqual(
        fail('unknownWebhook'),
      );
      const settings = { tagPrefix: 'desk-', hold: true, expect: ['linux'] };
      const webhook = { provider: 'github', sealedSecret: 'v1.a', ...settings } as const;
      await ledger.enableWebhook(appId, webhook, OPERATOR);
      const { enabledAt } = await integration();
      expect(await ledger.findEnabledWebhook(appId, 'github')).toMatchObject(settings);
      const ended = expectValue(await ledger.updateWebhook(name, { hold: false }, OPERATOR));
      expect(ended).toMatchObject({ tagPrefix: 'desk-', hold: false, expect: null });
      expect(await ledger.findEnabledWebhook(appId, 'github')).toMatchObject({
        ...{ enabledAt, hold: false, expect: null },
      });
      const refused = await ledger.updateWebhook(name, { expect: ['linux'] }, OPERATOR);
      expect(refused).toEqual(fail('invalid', 'expect: Only with hold'));
      await ledger.updateWebhook(name, { hold: false }, OPERATOR);
      const page = await ledger.listAudit(tenant.organizationId, { limit: 100 });
      const updates = expectValue(page).entries.filter((each) => each.action === 'webhook.update');
      expect(updates).toHaveLength(1);
    });

    test('an unknown app is 404, or found nowhere', async () => {
      const webhook = { provider: 'github', sealedSecret: 'v1.x' } as const;
      for (const app of ['nobody', '', 'nul\u0000', tenant.app.toUpperCase()]) {
        expect(await ledger.enableWebhook(app, webhook, OPERATOR)).toEqual(fail('unknownApp'));
        expect(await ledger.disableWebhooks(app, undefined, OPERATOR)).toEqual(fail('unknownApp'));
        expect(await ledger.findEnabledWebhook(app, 'github')).toBeUndefined();
        expect(await ledger.readWebhooks(app)).toEqual({ webhooks: [], deliveries: [] });
      }
    });
  });

  describe('deliveries', () => {
    test('are listed newest first, as many as are kept, each app its own', async () => {
      const other = await createTenant(ledger);
      await ledger.recordDelivery(DELIVERY, await integration(other));
      const actor = await integration();
      const count = LIMIT.webhookDeliveriesKeptMax + 5;
      for (let index = 0; index < count; index++) {
        await ledger.recordDelivery({ ...DELIVERY, guid: `g${index}` }, actor);
      }
      const { deliveries } = await ledger.readWebhooks(tenant.appId);
      expect(deliveries.map(({ guid }) => guid)).toEqual(
        Array.from({ length: LIMIT.webhookDeliveriesKeptMax }, (_, at) => `g${count - 1 - at}`),
      );
      expect((await ledger.readWebhooks(other.appId)).deliveries).toMatchObject([DELIVERY]);
      const rows = await database.query<{ count: number }>(
        'SELECT count(*)::int AS count FROM webhook_deliveries WHERE app_id = $1',
        [tenant.appId],
      );
      expect(rows).toEqual([{ count: LIMIT.webhookDeliveriesKeptMax }]);
    });

    test('many at once are all recorded, and few too many kept', async () => {
      const actor = await integration();
      const record = (at: number) => ledger.recordDelivery({ ...DELIVERY, guid: `g${at}` }, actor);
      await Promise.all(Array.from({ length: 80 }, (_, at) => record(at)));
      await record(80);
      const { deliveries } = await ledger.readWebhooks(tenant.appId);
      expect(deliveries).toHaveLength(LIMIT.webhookDeliveriesKeptMax);
      expect(deliveries[0]?.guid).toBe('g80');
    });

    test('text that is too long or cannot be stored is cut and replaced', async () => {
      const guid = `nul\u0000 half\ud800 ${'x'.repeat(10_000)}`;
      await ledger.recordDelivery({ ...DELIVERY, guid, reason: guid }, await integration());
      const [delivery] = (await ledger.readWebhooks(tenant.appId)).deliveries;
      expect(delivery?.guid).toMatch(/^nul\ufffd half\ufffd x{100,}$/);
      expect(delivery?.guid?.length).toBe(200);
      expect(delivery?.reason).toBe(delivery?.guid);
    });
  });

  describe('late artifacts', () => {
    async function announce(author: Actor, parts = {}): Promise<Changed<Release>> {
      const release = newRelease(tenant, '1.0.0', parts);
      return expectValue(await ledger.publishRelease(tenant.organizationId, release, author));
    }

    const complete = (canonicalVersion = '1.0.0', channel = 'stable') =>
      ledger.completeRelease(
        tenant.organizationId,
        { app: tenant.app, channel, canonicalVersion },
        { artifacts: [ARTIFACT], at: undefined, isComplete: () => false },
        actor,
      );

    let actor: Awaited<ReturnType<typeof integration>>;
    beforeEach(async () => {
      actor = await integration();
    });

    test('complete a release of an integration that has none, at the next revision, once', async () => {
      const announced = await announce(actor);
      const { revision } = await readStable(ledger, tenant);
      const done = expectValue(await complete());
      expect(done.value).toEqual({ ...announced.value, artifacts: [ARTIFACT] });
      expect(done.changed).toMatchObject([{ appRef: tenant.app, revision: revision + 1 }]);
      const snapshot = await readStable(ledger, tenant);
      expect(snapshot).toMatchObject({
        revision: revision + 1,
        releases: [{ artifacts: [ARTIFACT] }],
      });
      expect(expectValue(await complete())).toEqual({ value: done.value, changed: [] });
      expect((await readStable(ledger, tenant)).revision).toBe(revision + 1);
    });

    test('keep the sum they came with for the snapshot, and tell it nowhere else', async () => {
      const digest = 'ab'.repeat(32);
      const summed = { ...ARTIFACT, digest };
      for (const artifacts of [[summed], []]) {
        tenant = await createTenant(ledger);
        actor = await integration();
        const announced = await announce(actor, { artifacts });
        const name = { app: tenant.app, channel: 'stable', canonicalVersion: '1.0.0' };
        const { organizationId } = tenant;
        const event = { artifacts: [summed], at: undefined, isComplete: () => false };
        const completing = ledger.completeRelease(organizationId, name, event, actor);
        const { value } = expectValue(await completing);
        expect(value.artifacts).toEqual([ARTIFACT]);
        expect(announced.value.artifacts).toEqual(artifacts.map(() => ARTIFACT));
        const filter = { app: tenant.app, channel: undefined, page: 1, perPage: 10 };
        expect(await ledger.listReleases(organizationId, filter)).toMatchObject({
          releases: [{ artifacts: [ARTIFACT] }],
        });
        expect((await readStable(ledger, tenant)).releases[0]?.artifacts).toEqual([
          { ...ARTIFACT, sha256: digest },
        ]);
      }
    });

    test.each(['AB'.repeat(32), 'ab'.repeat(31), 'sha256', ''])(
      'have a sum of 64 lower-case hex digits or none: %j is refused',
      async (digest) => {
        await expect(announce(actor, { artifacts: [{ ...ARTIFACT, digest }] })).rejects.toThrow(
          /sha256/,
        );
        expect((await readStable(ledger, tenant)).releases).toEqual([]);
      },
    );

    test('never change a release of a key, of an operator, or with artifacts', async () => {
      for (const [author, artifacts] of [
        [PUBLISHER, []],
        [OPERATOR, []],
        ['integration', [{ platform: 'darwin' }]],
      ] as const) {
        tenant = await createTenant(ledger);
        actor = await integration();
        const announced = await announce(author === 'integration' ? actor : author, { artifacts });
        expect(expectValue(await complete())).toEqual({ value: announced.value, changed: [] });
      }
    });

    test('never change a release that was offered', async () => {
      const announced = await announce(actor);
      const { channelId, revision } = await readStable(ledger, tenant);
      expect(
        await ledger.recordFirstOffer(channelId, announced.value.id, { epoch: 0, revision }),
      ).toBe(true);
      expect(expectValue(await complete())).toEqual({ value: announced.value, changed: [] });
    });

    test('of many at once one completes it', async () => {
      await announce(actor);
      const all = await Promise.all(Array.from({ length: 8 }, () => complete()));
      const changed = all.map((each) => expectValue(each).changed.length);
      expect(changed.filter((count) => count === 1)).toHaveLength(1);
      expect((await readStable(ledger, tenant)).releases[0]?.artifacts).toEqual([ARTIFACT]);
    });

    test('an unknown release, channel or tenant is 404', async () => {
      await announce(actor);
      expect(await complete('2.0.0')).toEqual(fail('unknownRelease'));
      expect(await complete('nul\u0000')).toEqual(fail('unknownRelease'));
      expect(await complete('1.0.0', 'beta')).toEqual(fail('unknownChannel'));
      const other = await createTenant(ledger);
      tenant = { ...tenant, organizationId: other.organizationId };
      expect(await complete()).toEqual(fail('unknownApp'));
    });
  });
}
