// Rules of what is told: each event by its cause, once, in the order of commits, to the destinations that ask
// for it; and of the destinations themselves (docs/contract.md 30).

import { describe, expect, test } from 'vitest';
import { fail, isFailure } from '../../../src/contract/failure.ts';
import { LIMIT } from '../../../src/contract/limit.ts';
import type { EventFilter, EventType, NewEvent } from '../../../src/contract/notification.ts';
import { USUAL_GUARDS } from '../../../src/domain/rollout/judge-health.ts';
import { atomically } from '../../../src/store/ledger/change/atomically.ts';
import { definition } from '../../domain/rollout/plan-fixture.ts';
import {
  createTenant,
  expectValue,
  OPERATOR,
  PUBLISHER,
  SEAL,
  UNKNOWN_NAMES,
  unique,
} from './ledger-fixture.ts';
import { join } from './people-fixture.ts';
import { nameOf, type Place, planHands } from './plan-hands.ts';
import type { LedgerUnderTest } from './test-database.ts';

type StoredEvent = {
  readonly id: string;
  readonly type: EventType;
  readonly data: NewEvent['facts'];
};

export function describeNotifications({ database, ledger }: LedgerUnderTest): void {
  const { create, drive, pass, read, steer } = planHands({ ledger, database });

  /** Returns what was told to a destination, in the order in which it is sent. */
  function toldTo({ id }: { readonly id: string }): Promise<StoredEvent[]> {
    return database.query<StoredEvent>(
      `SELECT event.id, event.type, event.data FROM notification_deliveries AS delivery
       JOIN notification_events AS event ON event.id = event_id
       WHERE destination_id = $1 ORDER BY seq`,
      [id],
    );
  }

  async function typesTo(destination: { readonly id: string }): Promise<readonly EventType[]> {
    return (await toldTo(destination)).map(({ type }) => type);
  }

  async function furnish(channels?: readonly string[]) {
    const tenant = await createTenant(ledger, channels);
    const { organizationId } = tenant;
    const place: Place = { tenant, id: '', scope: organizationId, name: nameOf(tenant) };
    const by = { scope: organizationId, actor: PUBLISHER };
    return { tenant, organizationId, destination: await tenant.listen(), by, place };
  }

  test('a stop of very many releases is one event, and so is its end (§30.1)', async () => {
    const { tenant, destination, by } = await furnish();
    const { app, appId } = tenant;
    await database.query(
      `INSERT INTO releases
         (id, channel_id, version, canonical_version, notes, status, rollout_pct, source)
       SELECT channels.id || n, channels.id, '1.' || n, '1.' || n || '.0', '', 'published', 100, 'api'
       FROM channels, generate_series(0, $2::int) AS n WHERE app_id = $1 AND name = 'stable'`,
      [appId, LIMIT.stopEventsMax],
    );
    const input = { app, channel: 'stable' };
    const stopped = await ledger.stopReleases({ ...by, input, reason: 'It burns' });
    const stop = expectValue(stopped).value;
    expectValue(await ledger.resumeStop({ ...by, input: { stop: stop.id } }));
    const told = (await toldTo(destination)).map(({ type, data }) => ({ type, data }));
    const place = { app, channel: 'stable', version: null };
    const facts = { stop: stop.id, releases: LIMIT.stopEventsMax + 1 };
    expect(told).toMatchObject([
      { type: 'release.paused', data: { ...place, ...facts, reason: 'It burns' } },
      { type: 'release.resumed', data: { ...place, ...facts, reason: null } },
    ]);
    expect(await tenant.audit()).toHaveLength(100);
  });

  test('destinations that are added at once are no more than there may be (§30.4)', async () => {
    const { organizationId, destination } = await furnish();
    await database.query(
      `INSERT INTO notification_destinations
         (id, organization_id, name, kind, url, is_enabled, created_by)
       SELECT $1 || n, organization_id, name, 'slack', url, is_enabled, created_by
       FROM notification_destinations, generate_series(3, $2::int) AS n WHERE id = $1`,
      [destination.id, LIMIT.destinationsMax],
    );
    const asked = { ...destination, organizationId, events: null, apps: null };
    const add = () => ledger.createDestination(asked, SEAL, OPERATOR);
    const added = await Promise.all([add(), add(), add(), add()]);
    expect(added.filter(isFailure)).toEqual(Array(3).fill(fail('tooManyDestinations')));
  });

  test('events that are written in parts keep their order (§30.3)', async () => {
    const { organizationId, destination } = await furnish();
    const events = Array.from({ length: 250 }, (_, at) => {
      const key = { id: `key_${at}`, name: 'ci', prefix: 'p' };
      return { type: 'key.revoked', facts: { key } } as const;
    });
    await atomically(database, OPERATOR, async (sql) => sql.addEvents({ organizationId }, events));
    const told = await toldTo(destination);
    expect(told.map(({ data }) => (data as { key: { id: string } }).key.id)).toEqual(
      events.map(({ facts }) => facts.key.id),
    );
  });

  const PAUSED = { status: 'paused' } as const;
  const LIVE = { status: 'published' } as const;

  test('what becomes of releases is told once, by every call that does it, with where, what, who and why (§30.1, §30.2)', async () => {
    const { tenant, destination, by } = await furnish(['stable', 'beta']);
    const { app } = tenant;
    await tenant.release('1.0.0', { ...PAUSED, rolloutPct: 5 });
    await tenant.serve('1.0.0', { ...LIVE, rollout: 10 });
    const transition = (serving: object) => ({ ...serving, rolloutPct: 20 }) as never;
    const raise = { input: { ...nameOf(tenant), transition }, reason: 'all is well' };
    await ledger.controlServing({ ...by, ...raise });
    await tenant.serve('1.0.0', { rollout: 15 });
    for (const change of [PAUSED, PAUSED, LIVE]) await tenant.serve('1.0.0', change);
    const stop = await ledger.stopReleases({ ...by, input: { app, channel: undefined } });
    await ledger.resumeStop({ ...by, input: { stop: expectValue(stop).value.id } });
    const serving = { status: 'published', rolloutPct: 10, targets: null } as const;
    const place = { app, from: 'stable', to: 'beta', canonicalVersion: '1.0.0' };
    expectValue(await ledger.promoteRelease({ ...by, input: { ...place, ...serving } }));
    await tenant.withdraw('1.0.0');
    const told = await toldTo(destination);
    expect(told.map(({ type }) => type)).toEqual([
      ...['release.published', 'release.raised', 'release.paused', 'release.resumed'],
      ...['release.paused', 'release.resumed', 'release.promoted', 'release.withdrawn'],
    ]);
    expect(told[1]).toEqual({
      id: expect.stringMatching(/^evt_/),
      type: 'release.raised',
      data: {
        ...{ app, channel: 'stable', version: '1.0.0', reason: 'all is well' },
        actor: 'account:publisher@example.com',
        ...{ status: 'published', rollout: 20, rolloutBefore: 10, targets: null },
      },
    });
  });

  describe('events of a plan', () => {
    const driven = async (place: Place) => (await drive({ ...place, ...(await read(place)) })).id;

    test("from its start to its end, and a person's pause and what it holds (§30.1)", async () => {
      const { tenant, destination, place } = await furnish();
      await tenant.release('1.0.0', { rolloutPct: 0 });
      expectValue(await create(place, '10:60 20:0'));
      const id = await driven(place);
      for (let step = 0; step < 2; step++) {
        await pass(61);
        await driven(place);
      }
      expectValue(await create(place, '50:60'));
      await driven(place);
      for (const change of [PAUSED, LIVE]) await tenant.serve('1.0.0', change);
      for (const action of ['resume', 'hold', 'cancel'] as const) {
        expectValue(await steer(place, action, 'because'));
      }
      const told = await toldTo(destination);
      expect(told.map(({ type }) => type)).toEqual([
        ...['release.published', 'plan.started', 'plan.step', 'plan.step', 'plan.completed'],
        ...['plan.started', 'plan.step', 'release.paused', 'plan.held', 'release.resumed'],
        ...['plan.held', 'plan.cancelled'],
      ]);
      expect(told[2]?.data).toMatchObject({
        actor: `plan:${id}`,
        plan: { id, status: 'running', step: 1, steps: 2, rollout: 10 },
      });
      const why = [told[8], told[10]].map((held) => held?.data);
      expect(why).toMatchObject([{ reason: 'The release was paused' }, { reason: 'because' }]);
    });

    test('a wait is told once, and its end in a hold (§30.1)', async () => {
      const { tenant, destination, place } = await furnish();
      const guards = { ...USUAL_GUARDS, failedPercent: 1 };
      const plan = definition('10:60 100:0', { guards, patienceMinutes: 10 });
      await tenant.release('1.0.0', { rolloutPct: 0, plan });
      for (const minutes of [0, 61, 0, 11]) {
        await pass(minutes);
        await driven(place);
      }
      const told = await toldTo(destination);
      expect(told.map(({ type }) => type)).toEqual([
        ...['release.published', 'plan.started', 'plan.step', 'plan.waiting', 'plan.held'],
      ]);
      expect(told[3]?.data).toMatchObject({ waitingFor: { guard: 'failed' } });
    });

    test('a plan begins and ends with its release (§30.1)', async () => {
      const { tenant, destination, place } = await furnish();
      await tenant.release('1.0.0', { ...PAUSED, plan: definition('10:60') });
      await tenant.serve('1.0.0', LIVE);
      await driven(place);
      await tenant.serve('1.0.0', { status: 'rolled_back' });
      expect(await typesTo(destination)).toEqual([
        ...['release.published', 'plan.started', 'plan.step', 'release.rolled_back'],
        'plan.cancelled',
      ]);
    });
  });

  describe('events of an organization', () => {
    test('keys and members are told, with their names (§30.1)', async () => {
      const { tenant, organizationId, destination } = await furnish();
      const prefix = unique('prefix');
      const key = { organizationId, name: 'CI', prefix, secretHash: 'hash' };
      const { id } = expectValue(await ledger.createKey(key, OPERATOR));
      expectValue(await ledger.revokeKey(id, OPERATOR));
      expectValue(await ledger.revokeKey(id, OPERATOR));
      const { id: member, email } = await join(ledger, tenant, 'viewer');
      for (const role of ['publisher', 'publisher', undefined] as const) {
        expectValue(await ledger.changeMember(organizationId, member, role, OPERATOR));
      }
      const told = (await toldTo(destination)).map(({ type, data }) => [type, data]);
      const facts = (extra: object) => expect.objectContaining(extra);
      const roles = (roleBefore: string | null, role: string | null) =>
        facts({ app: null, member: { email, roleBefore, role } });
      expect(told).toEqual([
        ['key.created', facts({ actor: 'admin-token', key: { id, name: 'CI', prefix } })],
        ['key.revoked', facts({ key: { id, name: 'CI', prefix } })],
        ['member.changed', roles(null, 'viewer')],
        ['member.changed', roles('viewer', 'publisher')],
        ['member.changed', roles('publisher', null)],
      ]);
    });

    test('an edge that asks with a revoked token is told once, to all if it may serve all (§30.1)', async () => {
      const { organizationId, destination } = await furnish();
      const other = await furnish();
      const token = async (scope: string | null) => {
        const prefix = unique('edge');
        const named = { organizationId: scope, name: 'west', prefix, secretHash: 'hash' };
        return expectValue(await ledger.createEdgeToken(named, OPERATOR));
      };
      const [own, all] = [await token(organizationId), await token(null)];
      await ledger.tellRefusedEdge(own.id);
      for (const { id } of [own, all]) {
        expectValue(await ledger.revokeEdgeToken(id, OPERATOR));
        await Promise.all([ledger.tellRefusedEdge(id), ledger.tellRefusedEdge(id)]);
      }
      const edgeOf = ({ data }: StoredEvent) => (data as { edge?: { id: string } }).edge?.id;
      expect((await toldTo(destination)).map(edgeOf)).toEqual([own.id, all.id]);
      expect((await toldTo(other.destination)).map(edgeOf)).toEqual([all.id]);
    });

    test('a destination that is turned off is told to the others, and gets nothing later (§30.6)', async () => {
      const { tenant, destination } = await furnish();
      const other = await tenant.listen({ name: 'other' });
      await tenant.release('1.0.0');
      expect(await ledger.disableDestination(destination.id, 'Answered 410')).toBe(true);
      expect(await ledger.disableDestination(destination.id, 'Answered 410')).toBe(false);
      await tenant.release('2.0.0');
      expect(await typesTo(other)).toEqual([
        ...['release.published', 'destination.disabled', 'release.published'],
      ]);
      const [, disabled] = await toldTo(other);
      expect(disabled?.data).toMatchObject({
        ...{ actor: 'service', reason: 'Answered 410' },
        destination: { id: destination.id, kind: 'webhook', name: 'ops' },
      });
      const found = await ledger.findDestination(destination.id);
      expect(found).toMatchObject({ enabled: false, disabledWhy: 'Answered 410' });
      expect((await ledger.listDeliveries(destination.id, undefined, 10)).deliveries).toMatchObject(
        [{ type: 'release.published', state: 'dropped' }],
      );
      const on = await ledger.updateDestination(destination.id, { enabled: true }, SEAL, OPERATOR);
      expect(on).toMatchObject({ enabled: true, disabledWhy: null });
      expect(await typesTo(destination)).toEqual(['release.published']);
    });

    test('a refusal and a dry run tell nothing (§30.3)', async () => {
      const { tenant, organizationId, destination } = await furnish();
      await tenant.release('1.0.0');
      const again = await tenant.publish('1.0.0');
      expect(again).toMatchObject({ failure: 'versionExists' });
      const revoked = { kind: 'key', id: 'key_none', name: 'none', organizationId } as const;
      const refused = await tenant.publish('2.0.0', {}, { actor: revoked });
      expect(refused).toMatchObject({ failure: 'unauthorized' });
      await tenant.release('2.0.0', {}, { mode: 'try' });
      expect(await typesTo(destination)).toEqual(['release.published']);
      const kept = 'SELECT FROM notification_events WHERE organization_id = $1';
      expect(await database.query(kept, [organizationId])).toHaveLength(1);
    });
  });

  describe('who is told', () => {
    const asks = (events: readonly EventFilter[] | null) => ({ events });

    test('a destination gets the events and apps that it asks for, of its organization (§30.5)', async () => {
      const { tenant, destination: all } = await furnish();
      const stranger = await (await createTenant(ledger)).listen();
      const app = { ...tenant, ref: unique('second'), name: 'Second', channels: ['stable'] };
      const second = expectValue(await ledger.createApp(app, OPERATOR)).value;
      const releases = await tenant.listen(asks(['release.*']));
      const pauses = await tenant.listen(asks(['release.paused', 'key.created']));
      const other = await tenant.listen({ apps: [second.ref] });
      const off = await tenant.listen({ enabled: false });
      await tenant.release('1.0.0');
      await tenant.with({ app: second.ref }).release('1.0.0');
      await tenant.serve('1.0.0', { status: 'paused' });
      await tenant.key();
      const published = 'release.published';
      expect(await typesTo(all)).toEqual([
        ...[published, published, 'release.paused', 'key.created'],
      ]);
      expect(await typesTo(releases)).toEqual([published, published, 'release.paused']);
      expect(await typesTo(pauses)).toEqual(['release.paused', 'key.created']);
      expect(await typesTo(other)).toEqual([published]);
      expect(await typesTo(off)).toEqual([]);
      expect(await typesTo(stranger)).toEqual([]);
    });

    test('mail goes to members alone; what waits for a former one is not handed out, sent again or tested (§30.5)', async () => {
      const tenant = await createTenant(ledger);
      const { organizationId } = tenant;
      const { id: member, email } = await join(ledger, tenant, 'viewer');
      const mail = { kind: 'mail', url: null, to: email } as const;
      const stranger = tenant.listen({ ...mail, to: `${unique('x')}@example.com` });
      await expect(stranger).rejects.toThrow('to: Must be the address of a member');
      const { id } = await tenant.listen(mail);
      await tenant.release('1.0.0');
      const places = { held: [], promptFree: 1_000_000, slowFree: 1_000_000 };
      const terms = { leaseMs: 60_000, consoleUrl: 'https://updates.example.com' };
      const isLeased = async (holder: string) =>
        (await ledger.leaseDestinations(holder, places, terms.leaseMs)).some(
          (leased) => leased.id === id,
        );
      const holder = unique('node');
      expect(await isLeased(holder)).toBe(true);
      const due = await ledger.nextDelivery(id, holder, terms);
      expect(due).toMatchObject({ to: email });
      const { count: waiting } = await ledger.countWaitingMessages();
      expectValue(await ledger.changeMember(organizationId, member, undefined, OPERATOR));
      await tenant.release('2.0.0');
      expect(await typesTo({ id })).toEqual(['release.published']);
      expect(await ledger.nextDelivery(id, holder, terms)).toBeUndefined();
      await ledger.releaseDestination(id, holder);
      expect(await isLeased(unique('node'))).toBe(false);
      expect((await ledger.countWaitingMessages()).count).toBe(waiting - 1);
      const gone = fail('destinationOff', 'Its recipient is no longer a member');
      expect(await ledger.testDestination(id, OPERATOR)).toEqual(gone);
      expect(await ledger.sendAgain(id, due?.id ?? '', OPERATOR)).toEqual(gone);
    });
  });

  describe('destinations', () => {
    test('is stored, listed, changed and removed, each with an entry without a secret (§30.5)', async () => {
      const { tenant, destination } = await furnish();
      const { id } = destination;
      expect(await ledger.listDestinations(tenant.organizationId)).toEqual([destination]);
      const change = { name: 'night shift', events: ['plan.*'], apps: [tenant.app] } as const;
      const changed = await ledger.updateDestination(id, change, SEAL, OPERATOR);
      expect(changed).toEqual({ ...destination, ...change });
      expect(await ledger.updateDestination(id, change, SEAL, OPERATOR)).toEqual(changed);
      expect(await ledger.removeDestination(id, OPERATOR)).toEqual({ id });
      expect(await ledger.removeDestination(id, OPERATOR)).toEqual(fail('unknownDestination'));
      expect(await ledger.findDestination(id)).toBeUndefined();
      const entries = (await tenant.audit()).filter(({ subject }) => subject === id);
      expect(entries.map(({ action }) => action)).toEqual([
        ...['destination.remove', 'destination.update', 'destination.create'],
      ]);
      expect(JSON.stringify(entries)).not.toMatch(/sealed|\/hook/);
    });

    test('a new address and a rotation give a webhook a new secret (§30.7)', async () => {
      const { destination } = await furnish();
      const { id } = destination;
      const secrets = async () =>
        (await ledger.listDestinationSecrets(undefined, 1000)).find((each) => each.id === id);
      const seal = (text: string) => () => text;
      expect(await secrets()).toEqual({ id, sealed: SEAL(id), former: null });
      await ledger.rotateDestination(id, seal('second'), OPERATOR);
      expect(await secrets()).toEqual({ id, sealed: 'second', former: SEAL(id) });
      const url = 'https://other.example.com/hook';
      await ledger.updateDestination(id, { name: 'renamed' }, seal('unused'), OPERATOR);
      await ledger.updateDestination(id, { url }, seal('third'), OPERATOR);
      expect(await secrets()).toEqual({ id, sealed: 'third', former: null });
      const from = { id, sealed: 'third', former: null };
      const to = { id, sealed: 'resealed', former: null };
      expect(await ledger.replaceDestinationSecrets([{ from, to }])).toBe(1);
      expect(await ledger.replaceDestinationSecrets([{ from, to }])).toBe(0);
      expect((await secrets())?.sealed).toBe('resealed');
    });

    test('a test goes to one destination, whatever it asks for; a message is sent again (§30.8)', async () => {
      const { tenant, destination: other } = await furnish();
      const { id } = await tenant.listen({ events: ['plan.*'], name: 'plans' });
      const sent = expectValue(await ledger.testDestination(id, OPERATOR));
      expect(sent).toMatchObject({ type: 'test', state: 'waiting', tries: [] });
      expect(await typesTo(other)).toEqual([]);
      await database.query(
        `UPDATE notification_deliveries SET state = 'delivered', try_count = 3 WHERE id = $1`,
        [sent.id],
      );
      const again = await ledger.sendAgain(id, sent.id, OPERATOR);
      expect(again).toEqual({ ...sent, state: 'waiting', nextAt: expect.any(String) });
      expect(await ledger.sendAgain(other.id, sent.id, OPERATOR)).toEqual(fail('unknownDelivery'));
      await ledger.updateDestination(id, { enabled: false }, SEAL, OPERATOR);
      expect(await ledger.testDestination(id, OPERATOR)).toEqual(fail('destinationOff'));
      expect(await ledger.sendAgain(id, sent.id, OPERATOR)).toEqual(fail('destinationOff'));
    });

    test('deliveries are listed in pages, the newest first, for seven days (§30.8)', async () => {
      const { tenant, destination } = await furnish();
      for (const version of ['1.0.0', '2.0.0', '3.0.0']) await tenant.release(version);
      const [old] = await toldTo(destination);
      const first = await ledger.listDeliveries(destination.id, undefined, 2);
      expect(first.deliveries).toHaveLength(2);
      const rest = await ledger.listDeliveries(destination.id, first.next ?? '', 2);
      expect(rest).toMatchObject({ deliveries: [{ event: old?.id }], next: null });
      await database.query(
        `UPDATE notification_deliveries SET created_at = created_at - interval '7 days'
         WHERE event_id = $1`,
        [old?.id],
      );
      expect((await ledger.listDeliveries(destination.id, 'none', 10)).deliveries).toHaveLength(2);
    });

    test('what does not exist is refused, whatever its name (§30.5)', async () => {
      const { tenant } = await furnish();
      const unknown = fail('unknownDestination');
      for (const name of UNKNOWN_NAMES) {
        for (const refused of [
          ledger.updateDestination(name, {}, SEAL, OPERATOR),
          ledger.rotateDestination(name, SEAL, OPERATOR),
          ledger.removeDestination(name, OPERATOR),
          ledger.testDestination(name, OPERATOR),
        ]) {
          expect(await refused).toEqual(unknown);
        }
        expect(await ledger.disableDestination(name, 'why')).toBe(false);
        await expect(tenant.listen({ apps: [name] })).rejects.toThrow('unknownApp');
      }
    });
  });

  test('events are in the order of commits: who has read up to one has missed none (§30.3)', async () => {
    const { tenant, destination } = await furnish();
    let isOver = false;
    let reads = 0;
    const reader = (async () => {
      while (!isOver) {
        const [seen] = await database.query<{ last: number; events: number; deliveries: number }>(
          `SELECT coalesce(max(position), 0)::int AS last, count(*)::int AS events,
             (SELECT count(*) FROM notification_deliveries WHERE destination_id = $2)::int AS deliveries
           FROM notification_events WHERE organization_id = $1`,
          [tenant.organizationId, destination.id],
        );
        expect(seen?.events).toBe(seen?.last);
        expect(seen?.deliveries).toBe(seen?.last);
        reads += 1;
      }
    })();
    const ROUNDS = 60;
    try {
      for (let round = 0; round < ROUNDS; round++) {
        await Promise.all([tenant.key(), tenant.key()]);
      }
    } finally {
      isOver = true;
      await reader;
    }
    expect(reads).toBeGreaterThan(5);
    const inOrder = await database.query<{ position: string }>(
      `SELECT position FROM notification_deliveries JOIN notification_events AS event
         ON event.id = event_id WHERE destination_id = $1 ORDER BY seq`,
      [destination.id],
    );
    expect(inOrder.map(({ position }) => Number(position))).toEqual(
      Array.from({ length: 2 * ROUNDS }, (_, index) => index + 1),
    );
  });

  test('a key that is revoked while it publishes deadlocks with nothing (§30.3)', async () => {
    const { tenant, destination } = await furnish();
    for (let round = 0; round < 10; round++) {
      const actor = await tenant.key();
      const [published, revoked] = await Promise.all([
        tenant.publish(`1.0.${round}`, {}, { actor }),
        ledger.revokeKey(actor.id, OPERATOR),
      ]);
      expectValue(revoked);
      if ('failure' in published) expect(published.failure).toBe('unauthorized');
    }
    const revocations = (await typesTo(destination)).filter((type) => type === 'key.revoked');
    expect(revocations).toHaveLength(10);
  });
}
