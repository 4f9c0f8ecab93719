// Rules of the webhooks' part of the ledger port.

import { beforeEach, describe, expect, test } from 'vitest';
import { fail } from '../../../src/contract/failure.ts';
import { LIMIT } from '../../../src/contract/limit.ts';
import type { HostRelease } from '../../../src/domain/release/host/host-release.ts';
import type { Serving } from '../../../src/domain/release/serving-change.ts';
import type {
  HostRepository,
  NewAnnouncement,
  NewDelivery,
  NewRetraction,
} from '../../../src/store/console-ledger.ts';
import type { Actor, NewArtifact } from '../../../src/store/ledger-terms.ts';
import { writeInBulk } from '../../support/write-in-bulk.ts';
import { createTenant, expectValue, OPERATOR, type TestTenant } from './ledger-fixture.ts';
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
          ...{ ...NO_SETTINGS, repository: null },
        });
      }
    });

    test('is found no more once it is off, and its secret is gone; what is off is not turned off again', async () => {
      expect(await ledger.disableWebhooks(tenant.appId, undefined, OPERATOR)).toEqual([]);
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
      await ledger.disableWebhooks(tenant.appId, undefined, OPERATOR);
      const audit = await tenant.audit();
      const actions = audit.map(({ action }) => action).filter((each) => each.includes('webhook'));
      expect(actions).toEqual(['webhook.disable', 'webhook.enable']);
      expect(JSON.stringify(audit)).not.toContain('v1.sealed');
    });

    test('sealed secrets are listed by app id, and replaced while they are what they were', async () => {
      const other = await createTenant(ledger);
      const apps = [tenant.appId, other.appId].toSorted();
      const [first = '', second = ''] = apps;
      const webhook = { provider: 'github', sealedSecret: 'v1.sealed' } as const;
      for (const app of apps) expectValue(await ledger.enableWebhook(app, webhook, OPERATOR));
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
      const { enabledAt } = await tenant.integration();
      expect(await ledger.findEnabledWebhook(appId, 'github')).toMatchObject(settings);
      const ended = expectValue(await ledger.updateWebhook(name, { hold: false }, OPERATOR));
      expect(ended).toMatchObject({ tagPrefix: 'desk-', hold: false, expect: null });
      expect(await ledger.findEnabledWebhook(appId, 'github')).toMatchObject({
        ...{ enabledAt, hold: false, expect: null },
      });
      const refused = await ledger.updateWebhook(name, { expect: ['linux'] }, OPERATOR);
      expect(refused).toEqual(fail('invalid', 'expect: Only with hold'));
      await ledger.updateWebhook(name, { hold: false }, OPERATOR);
      const audit = await tenant.audit();
      expect(audit.filter(({ action }) => action === 'webhook.update')).toHaveLength(1);
      // Of several at once each is made, and none is torn.
      const changes = [{ hold: true, expect: ['linux'] }, { hold: false }, { tagPrefix: 'x-' }];
      const update = (change: (typeof changes)[number]) =>
        ledger.updateWebhook(name, change, OPERATOR);
      await Promise.all([...changes, ...changes].map(update));
      const last = await ledger.findEnabledWebhook(appId, 'github');
      const expected = last?.hold === true ? ['linux'] : null;
      expect(last).toMatchObject({ tagPrefix: 'x-', expect: expected });
    });

    test('takes the first repository it is told, by its id or else its name (§18.24)', async () => {
      const notes = { id: 7, name: 'acme/notes' };
      const tools = { id: 8, name: 'acme/tools' };
      const moved = { id: 7, name: 'b/notes' };
      const webhook = await tenant.integration();
      const bind = (repository: HostRepository) => ledger.bindRepository(webhook, repository);
      const [one, other] = await Promise.all([bind(notes), bind(tools)]);
      expect(other).toEqual(one);
      expect([notes, tools]).toContainEqual(one);

      const anew = await tenant.integration();
      const shown = async () => (await ledger.readWebhooks(tenant.appId)).webhooks;
      expect(await shown()).toMatchObject([{ repository: null, otherRepository: null }]);
      expect(await ledger.bindRepository(webhook, notes)).toBeNull();
      const nameOnly = { id: null, name: 'acme/notes' };
      const spelled = { id: 7, name: 'Acme/Notes' };
      const steps: [told: HostRepository, bound: HostRepository][] = [
        [nameOnly, nameOnly],
        [spelled, spelled],
        [nameOnly, notes],
        [{ id: null, name: 'acme/tools' }, notes],
        [moved, moved],
        [{ id: 9, name: 'b/notes' }, moved],
        [tools, moved],
      ];
      for (const [told, bound] of steps) {
        expect([told, await ledger.bindRepository(anew, told)]).toEqual([told, bound]);
      }
      const otherRepository = { name: 'acme/tools', at: expect.any(String) };
      expect(await shown()).toMatchObject([{ repository: 'b/notes', otherRepository }]);
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
    test('are all recorded, also many at once, and listed newest first, as many as are kept, each app its own', async () => {
      const other = await createTenant(ledger);
      await ledger.recordDelivery(DELIVERY, await other.integration());
      const actor = await tenant.integration();
      const record = (at: number) => ledger.recordDelivery({ ...DELIVERY, guid: `g${at}` }, actor);
      await Promise.all(Array.from({ length: 60 }, (_, at) => record(at)));
      for (const at of [60, 61]) await record(at);
      const { deliveries } = await ledger.readWebhooks(tenant.appId);
      expect(deliveries.slice(0, 2).map(({ guid }) => guid)).toEqual(['g61', 'g60']);
      const kept = LIMIT.webhookDeliveriesKeptMax;
      expect(new Set(deliveries.map(({ guid }) => guid)).size).toBe(kept);
      expect((await ledger.readWebhooks(other.appId)).deliveries).toMatchObject([DELIVERY]);
      const rows = await database.query('SELECT FROM webhook_deliveries WHERE app_id = $1', [
        tenant.appId,
      ]);
      expect(rows).toHaveLength(kept);
    });

    test('text that is too long or cannot be stored is cut and replaced', async () => {
      const guid = `nul\u0000 half\ud800 ${'x'.repeat(10_000)}`;
      await ledger.recordDelivery({ ...DELIVERY, guid, reason: guid }, await tenant.integration());
      const [delivery] = (await ledger.readWebhooks(tenant.appId)).deliveries;
      expect(delivery?.guid).toMatch(/^nul\ufffd half\ufffd x{100,}$/);
      expect(delivery?.guid?.length).toBe(200);
      // A person reads the reason, and sees that there was more.
      expect(delivery?.reason).toBe(`${delivery?.guid?.slice(0, -1)}…`);
    });
  });

  describe('announcements', () => {
    /** What an event says of its release: of the id 1, and without times, unless told otherwise. */
    function hostOf(parts: Partial<HostRelease> = {}): HostRelease {
      const times = { changedAt: null, publishedAt: null, filesFrom: null, filesTo: null };
      return { provider: 'github', id: 1, tag: 'v1.0.0', ...times, ...parts };
    }

    const nameOf = (canonicalVersion = '1.0.0', channel = 'stable') => ({
      ...{ app: tenant.app, channel, canonicalVersion },
    });

    /** Announces 1.0.0 with these artifacts. */
    function announce(
      artifacts: readonly NewArtifact[],
      host: Partial<HostRelease> = {},
      parts: Partial<NewAnnouncement> = {},
    ) {
      const name = nameOf();
      const rules = { isComplete: () => false, holdOf: () => undefined };
      const whole = { name, version: name.canonicalVersion, notes: '', isEdit: false, artifacts };
      return ledger.announceRelease(
        tenant.organizationId,
        { ...whole, ...rules, host: hostOf(host), ...parts },
        actor,
      );
    }

    const edit = (artifacts: readonly NewArtifact[], host: Partial<HostRelease> = {}) =>
      announce(artifacts, host, { isEdit: true });

    function retract(
      host: Partial<HostRelease> = {},
      parts: Partial<NewRetraction> = {},
      version = '1.0.0',
    ) {
      const way = { way: 'deleted', isDraft: false, reason: 'deleted' } as const;
      const call = { ...way, host: hostOf(host), ...parts };
      return ledger.retractRelease(tenant.organizationId, nameOf(version), call, actor);
    }

    async function present() {
      const { releases } = await tenant.stable();
      return releases.map(({ status, artifacts }) => [status, artifacts.length]);
    }

    let actor: Actor;
    beforeEach(async () => {
      actor = await tenant.integration();
    });

    test('complete a release that has no files, at the next revision, once', async () => {
      const created = expectValue(await announce([])).value;
      const { revision } = await tenant.stable();
      const done = expectValue(await edit([ARTIFACT]));
      const release = 'release' in created ? { ...created.release, artifacts: [ARTIFACT] } : {};
      expect(done.value).toMatchObject({ outcome: 'changed', release });
      expect(done.changed).toMatchObject([{ appRef: tenant.app, revision: revision + 1 }]);
      const snapshot = await tenant.stable();
      expect(snapshot).toMatchObject({
        revision: revision + 1,
        releases: [{ artifacts: [ARTIFACT] }],
      });
      const left = { outcome: 'left', release, left: undefined };
      expect(expectValue(await edit([ARTIFACT]))).toEqual({ value: left, changed: [] });
      expect((await tenant.stable()).revision).toBe(revision + 1);
    });

    test('tell when a held release publishes itself, and when it is called back (§30.1)', async () => {
      const { id } = await tenant.listen();
      const held = { holdOf: () => 'expecting' as const, isComplete: () => true };
      expectValue(await announce([], {}, held));
      expectValue(await announce([ARTIFACT], {}, held));
      expectValue(await retract());
      const { deliveries } = await ledger.listDeliveries(id, undefined, 10);
      expect(deliveries.map(({ type }) => type)).toEqual(['release.paused', 'release.published']);
    });

    test('keep the sum they came with for the snapshot, and tell it nowhere else', async () => {
      const digest = 'ab'.repeat(32);
      const summed = { ...ARTIFACT, digest };
      for (const artifacts of [[summed], []]) {
        tenant = await createTenant(ledger);
        actor = await tenant.integration();
        const created = expectValue(await announce(artifacts));
        expect(created.value).toMatchObject({
          release: { artifacts: artifacts.map(() => ARTIFACT) },
        });
        const { value } = expectValue(await announce([summed]));
        expect(value).toMatchObject({ release: { artifacts: [ARTIFACT] } });
        expect(JSON.stringify(value)).not.toContain(digest);
        const filter = { app: tenant.app, channel: undefined, page: 1, perPage: 10 };
        expect(await ledger.listReleases(tenant.organizationId, filter)).toMatchObject({
          releases: [{ artifacts: [ARTIFACT] }],
        });
        expect((await tenant.stable()).releases[0]?.artifacts).toEqual([
          { ...ARTIFACT, sha256: digest },
        ]);
      }
    });

    test('have a sum of 64 lower-case hex digits or none', async () => {
      for (const digest of ['AB'.repeat(32), 'ab'.repeat(31), '']) {
        await expect(announce([{ ...ARTIFACT, digest }])).rejects.toThrow(/sha256/);
      }
      expect(await present()).toEqual([]);
    });

    test('never change a release of a key', async () => {
      await tenant.release('1.0.0');
      const { value, changed } = expectValue(await announce([ARTIFACT]));
      expect([value, changed]).toMatchObject([{ outcome: 'left', left: 'api' }, []]);
      expect(expectValue(await retract({ id: 2 })).value).toBe('not-announced');
      expect(await present()).toEqual([['published', 0]]);
    });

    test('change the notes of a release that was never offered, in a new edition, once (§18.23)', async () => {
      expectValue(await announce([ARTIFACT], {}, { notes: 'first' }));
      const before = await tenant.stable();
      const reword = () => announce([ARTIFACT], {}, { notes: 'second', isEdit: true });
      const all = (await Promise.all(Array.from({ length: 4 }, reword))).map(expectValue);
      const outcomes = all.map(({ value }) => value.outcome).toSorted();
      expect(outcomes).toEqual(['changed', 'left', 'left', 'left']);
      expect(all.find(({ value }) => value.outcome === 'changed')?.value).toMatchObject({
        ...{ hasNewFiles: false, hasNewNotes: true, release: { notes: 'second' } },
      });
      const after = await tenant.stable();
      expect(after).toMatchObject({
        revision: before.revision + 1,
        releases: [{ notes: 'second', artifacts: [ARTIFACT] }],
      });
      expect(after.releases[0]?.edition).not.toBe(before.releases[0]?.edition);
      const audit = await tenant.audit();
      const entries = audit.filter(({ action }) => action === 'release.complete');
      expect(entries).toMatchObject([
        { actor: 'integration:github', before: { notes: 'first' }, after: { notes: 'second' } },
      ]);
    });

    test('a first offer of the notes before is refused, and one that was made keeps its notes (§18.23)', async () => {
      expectValue(await announce([ARTIFACT], {}, { notes: 'first' }));
      const before = await tenant.stable();
      const id = before.releases[0]?.id ?? '';
      const offer = ({ channelId, revision }: typeof before) =>
        ledger.recordFirstOffer(channelId, id, { epoch: 0, revision });
      await announce([ARTIFACT], {}, { notes: 'second' });
      expect(await offer(before)).toBe(false);
      const after = await tenant.stable();
      expect([await offer(after), after.releases[0]?.notes]).toEqual([true, 'second']);
      const { value, changed } = expectValue(await announce([ARTIFACT], {}, { notes: 'third' }));
      expect([value, changed]).toMatchObject([
        { outcome: 'left', left: 'offered', release: { notes: 'second' } },
        [],
      ]);
    });

    test('the notes of an edit that comes first too, also of one without notes by an earlier version', async () => {
      const early = { isEdit: true, notes: 'edited' };
      expectValue(await announce([ARTIFACT], { changedAt: 2 }, early));
      expectValue(
        await announce([ARTIFACT], { changedAt: 2, id: 2 }, { ...early, name: nameOf('2.0.0') }),
      );
      await database.query(
        `UPDATE host_memories SET files = (files::jsonb - 'notes')::json WHERE host_id = 2`,
      );
      for (const [version, id] of [
        ['1.0.0', 1],
        ['2.0.0', 2],
      ] as const) {
        const first = { name: nameOf(version), notes: 'announced' };
        expectValue(await announce([], { changedAt: 1, id }, first));
      }
      const { releases } = await tenant.stable();
      const told = releases.map(({ notes, artifacts }) => [notes, artifacts.length]);
      expect(told.toSorted()).toEqual([
        ['announced', 1],
        ['edited', 1],
      ]);
    });

    test('what is deleted first is not created, for as long and as many as are remembered', async () => {
      await retract();
      await writeInBulk(
        database,
        `INSERT INTO host_memories (channel_id, provider, host_id, canonical_version, deleted_at)
         SELECT channel_id, provider, id, canonical_version, deleted_at
         FROM host_memories, generate_series(2, $1) AS id
         WHERE channel_id = $2`,
        [LIMIT.hostMemoriesMax, (await tenant.stable()).channelId],
      );
      await retract({ id: LIMIT.hostMemoriesMax + 1 });
      const rows = await database.query<{ id: number }>(
        `SELECT host_id::int AS id FROM host_memories JOIN channels ON channels.id = channel_id
         WHERE app_id = $1 ORDER BY host_id`,
        [tenant.appId],
      );
      expect(rows.map(({ id }) => id)).toEqual(
        Array.from({ length: LIMIT.hostMemoriesMax }, (_, index) => index + 2),
      );
      expect(expectValue(await announce([ARTIFACT], { id: 2 })).value).toEqual({ outcome: 'over' });
      await database.query(
        `UPDATE host_memories SET noted_at = noted_at - make_interval(secs => $1) WHERE host_id = 2`,
        [LIMIT.hostMemoryMs / 1000],
      );
      const { value } = expectValue(await announce([ARTIFACT], { id: 2 }));
      expect(value).toMatchObject({ outcome: 'created' });
    });

    test('a retraction concerns the release of its id, until another takes its place', async () => {
      await announce([ARTIFACT]);
      expect(expectValue(await retract({}, {}, '2.0.0')).value).toBeUndefined();
      expect(expectValue(await retract({ id: 2 })).value).toBe('another');
      // The events of another code host leave it alone.
      expectValue(await retract({ provider: 'gitea' }));
      expect(await present()).toEqual([['published', 1]]);
      const { value, changed } = expectValue(await retract());
      expect([value, changed.length]).toEqual(['paused', 1]);
      expect(expectValue(await retract()).value).toBe('unserved');
      const again = { id: 3, publishedAt: 3 };
      expect(expectValue(await announce([], again)).value).toMatchObject({ isMadeAnew: true });
      expect(await present()).toEqual([['published', 0]]);
    });

    test('of many announcements at once one creates the release (§18.5)', async () => {
      const all = await Promise.all(Array.from({ length: 8 }, () => announce([ARTIFACT])));
      const outcomes = all.map((each) => expectValue(each).value.outcome);
      expect(outcomes.filter((each) => each === 'created')).toHaveLength(1);
      expect(new Set(outcomes)).toEqual(new Set(['created', 'left']));
      expect(await present()).toEqual([['published', 1]]);
    });

    test('what a person has paused, a release that is made anew does not publish', async () => {
      await announce([ARTIFACT]);
      await retract();
      const pause = (serving: Serving) => ({ ...serving, isStatusSet: true });
      await tenant.serve('1.0.0', pause);
      const { value } = expectValue(await announce([], { id: 2 }));
      expect(value).toMatchObject({ outcome: 'changed', isMadeAnew: true });
      expect(await present()).toEqual([['paused', 0]]);
    });

    test('an unknown channel or tenant is 404', async () => {
      const beta = nameOf('1.0.0', 'beta');
      expect(await announce([], {}, { name: beta })).toEqual(fail('unknownChannel'));
      const other = await createTenant(ledger);
      tenant = tenant.with({ organizationId: other.organizationId });
      expect(await announce([])).toEqual(fail('unknownApp'));
      expect(await retract()).toEqual(fail('unknownApp'));
    });
  });
}
