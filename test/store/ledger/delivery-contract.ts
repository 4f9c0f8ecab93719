// Rules of sending what was told in the ledger port: leases, the order of a destination, what came of tries,
// and mails to people (docs/contract.md, Delivery).

import { beforeEach, describe, expect, test } from 'vitest';
import type { DeliveryTry } from '../../../src/contract/notification.ts';
import type {
  DueDelivery,
  MailKind,
  Places,
  TriedState,
} from '../../../src/store/delivery-ledger.ts';
import { eventually } from '../../support/eventually.ts';
import { createTenant, expectValue, OPERATOR, SEAL, type TestTenant } from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

const LEASE_MS = 60_000;
const PLACES: Places = { held: [], promptFree: 100, slowFree: 100 };
const CONSOLE = 'https://updates.example.com';
const OK: DeliveryTry = { at: '2026-08-01T00:00:00.000Z', status: 200, error: null, ms: 12 };
const BAD: DeliveryTry = { ...OK, status: 500, error: 'Answered 500: \u0000 \ud800' };
const DONE: TriedState = { state: 'delivered' };
const later = (inMs: number): TriedState => ({ state: 'waiting', inMs });

export function describeDeliveries({ database, ledger }: LedgerUnderTest): void {
  let tenant: TestTenant;
  let count = 0;

  // Leases look at all destinations.
  beforeEach(async () => {
    await database.query('DELETE FROM notification_destinations');
    await database.query('DELETE FROM notification_events');
    await database.query('DELETE FROM outgoing_mails');
    tenant = await createTenant(ledger);
  });

  const newDestination = async () => (await tenant.listen()).id;

  /** Tells so many events. */
  async function tell(times: number): Promise<void> {
    for (let index = 0; index < times; index++) await tenant.release(`1.0.${count++}`);
  }

  const lease = async (holder: string) =>
    (await ledger.leaseDestinations(holder, PLACES, LEASE_MS)).map(({ id }) => id);
  const next = (id: string, holder = 'a', consoleUrl = CONSOLE) =>
    ledger.nextDelivery(id, holder, { leaseMs: LEASE_MS, consoleUrl });

  async function expectNext(id: string, holder = 'a'): Promise<DueDelivery> {
    const due = await next(id, holder);
    if (due === undefined) throw new Error('nothing is due');
    return due;
  }

  /** Lets time pass: moves what the ledger noted into the past. */
  async function pass(minutes: number): Promise<void> {
    const past = (column: string) => `${column} = ${column} - $1 * interval '1 minute'`;
    await database.query(
      `UPDATE notification_deliveries SET ${past('next_at')}, ${past('first_failed_at')}`,
      [minutes],
    );
    await database.query(
      `UPDATE notification_destinations SET ${past('failing_since')}, ${past('leased_until')}`,
      [minutes],
    );
  }

  const versionsOf = async (id: string): Promise<readonly (string | null)[]> => {
    const versions: (string | null)[] = [];
    for (let due = await next(id); due !== undefined; due = await next(id)) {
      versions.push(due.event.data.version);
      await ledger.recordTry(due, OK, DONE);
    }
    return versions;
  };

  describe('a lease', () => {
    test('is of one node, also of several at once, until it gives it back or the time ends', async () => {
      const id = await newDestination();
      expect(await lease('a')).toEqual([]);
      await tell(1);
      const leases = await Promise.all(['b', 'c', 'd'].map((holder) => lease(holder)));
      expect(leases.flat()).toEqual([id]);
      for (const holder of ['b', 'c', 'd']) await ledger.releaseDestination(id, holder);
      expect(await lease('a')).toEqual([id]);
      expect(await next(id, 'b')).toBe(undefined);
      await ledger.releaseDestination(id, 'b');
      expect(await lease('b')).toEqual([]);
      await ledger.releaseDestination(id, 'a');
      expect(await lease('b')).toEqual([id]);
      await pass(2);
      expect(await lease('c')).toEqual([id]);
      // The node that was slow finds that it has the lease no more.
      expect(await next(id, 'b')).toBe(undefined);
      expect(await next(id, 'c')).toBeDefined();
    });

    test('is not given of a destination that is off', async () => {
      const id = await newDestination();
      await tell(1);
      await lease('a');
      const due = await expectNext(id);
      expect(await ledger.disableDestination(id, 'gone')).toBe(true);
      expect(await next(id)).toBe(undefined);
      // What was on its way is recorded, and does not wait again.
      await ledger.recordTry(due, BAD, later(0));
      expect((await ledger.listDeliveries(id, undefined, 10)).deliveries[0]?.state).toBe('dropped');
      expect(await lease('b')).toEqual([]);
    });
  });

  describe('messages', () => {
    test('have the event, the place, the secrets and what failed before', async () => {
      const id = await newDestination();
      await tell(1);
      await lease('a');
      const due = await expectNext(id);
      expect(due).toMatchObject({
        ...{ destinationId: id, kind: 'webhook', url: 'https://ops.example.com/hook', to: null },
        ...{ sealed: SEAL(id), former: null, failures: 0, failingMs: null },
        event: {
          type: 'release.published',
          data: { organization: { id: tenant.organizationId }, app: tenant.app, channel: 'stable' },
        },
      });
      expect(due.event.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      await ledger.recordTry(due, BAD, later(0));
      await pass(3);
      expect(await lease('a')).toEqual([id]);
      const again = await expectNext(id);
      expect(again).toMatchObject({ id: due.id, event: { id: due.event.id }, failures: 1 });
      expect(again.failingMs).toBeGreaterThanOrEqual(180_000);
      await ledger.rotateDestination(id, () => 'sealed anew', OPERATOR);
      expect(await expectNext(id)).toMatchObject({ sealed: 'sealed anew', former: SEAL(id) });
    });

    test('of one event are the same for all nodes, destinations and tries (§30.13)', async () => {
      const ids = [await newDestination(), await newDestination()];
      const [first = '', second = ''] = ids;
      await tell(1);
      await lease('a');
      const tried = await Promise.all([
        next(first, 'a', 'https://one.example.com'),
        next(second, 'a', 'https://two.example.com'),
      ]);
      const [one, two] = tried;
      expect(one?.consoleUrl).toMatch(/^https:\/\/(one|two)\.example\.com$/);
      expect(two).toMatchObject({ consoleUrl: one?.consoleUrl, event: one?.event });
      const { organizationId } = tenant;
      expectValue(await ledger.updateOrganization(organizationId, { name: 'Another' }, OPERATOR));
      expect(await next(first, 'a', 'https://three.example.com')).toEqual(one);
      await tell(1);
      await ledger.recordTry(await expectNext(first), OK, DONE);
      const later = await next(first, 'a', 'https://three.example.com');
      expect(later).toMatchObject({
        consoleUrl: 'https://three.example.com',
        event: { data: { organization: { name: 'Another' } } },
      });
    });

    test('come in the order of their events, and one that waits holds up all but tests and what is sent again', async () => {
      const id = await newDestination();
      const before = count;
      await tell(3);
      await lease('a');
      await ledger.recordTry(await expectNext(id), BAD, later(60_000));
      expect(await next(id)).toBe(undefined);
      const tested = expectValue(await ledger.testDestination(id, OPERATOR));
      for (const action of ['test', 'again']) {
        const due = await expectNext(id);
        expect(due.id).toBe(tested.id);
        await ledger.recordTry(due, OK, DONE);
        expect(await next(id)).toBe(undefined);
        if (action === 'test') expectValue(await ledger.sendAgain(id, tested.id, OPERATOR));
      }
      await ledger.releaseDestination(id, 'a');
      expect(await lease('a')).toEqual([]);
      await pass(1);
      expect(await lease('a')).toEqual([id]);
      expect(await versionsOf(id)).toEqual([0, 1, 2].map((index) => `1.0.${before + index}`));
    });

    test('that have failed for ten minutes hold up none, and are tried at their own times', async () => {
      const id = await newDestination();
      await tell(2);
      await lease('a');
      const first = await expectNext(id);
      await ledger.recordTry(first, BAD, later(3_600_000));
      await pass(9);
      await lease('a');
      expect(await next(id)).toBe(undefined);
      await pass(1);
      const second = await expectNext(id);
      expect(second.id).not.toBe(first.id);
      await ledger.recordTry(second, OK, DONE);
      expect(await next(id)).toBe(undefined);
      await pass(51);
      await lease('a');
      expect((await expectNext(id)).id).toBe(first.id);
    });

    test('keep their last twenty tries, in order, with errors that can be stored', async () => {
      const id = await newDestination();
      await tell(1);
      await lease('a');
      for (let ms = 0; ms < 22; ms++) {
        await ledger.recordTry(await expectNext(id), { ...BAD, ms }, later(0));
      }
      await ledger.recordTry(await expectNext(id), OK, DONE);
      const [delivery] = (await ledger.listDeliveries(id, undefined, 10)).deliveries;
      expect(delivery?.state).toBe('delivered');
      expect(delivery?.tries.map(({ ms }) => ms)).toEqual([...range(3, 22), 12]);
      expect(delivery?.tries[0]?.error).toBe('Answered 500: \ufffd \ufffd');
      const [found] = await ledger.listDestinations(tenant.organizationId);
      expect(found?.failingSince).toBe(null);
    });

    test('of events that are older than seven days are dropped and counted', async () => {
      const id = await newDestination();
      await tell(3);
      await lease('a');
      await ledger.recordTry(await expectNext(id), OK, DONE);
      expect(await ledger.dropOldMessages(10)).toEqual({ deleted: 0, dropped: 0 });
      expect(await ledger.countWaitingMessages()).toMatchObject({ count: 2 });
      await database.query("UPDATE notification_events SET at = at - interval '8 days'");
      expect(await ledger.dropOldMessages(2)).toEqual({ deleted: 2, dropped: 1 });
      expect(await ledger.dropOldMessages(10)).toMatchObject({ dropped: 1 });
      expect(await ledger.countWaitingMessages()).toEqual({ count: 0, oldestMs: 0 });
      expect((await ledger.listDeliveries(id, undefined, 10)).deliveries).toEqual([]);
    });
  });

  /** Stores a mail, with an invitation. */
  async function mail(id: string, kind: MailKind): Promise<void> {
    const at = new Date().toISOString();
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const { organizationId } = tenant;
    const invitation = {
      organizationId,
      tokenHash: id + organizationId,
      email: `${id}@example.com`,
    };
    const told = { id, kind, sealed: `sealed ${id}`, expiresAt };
    const terms = { role: 'viewer', at, expiresAt, mail: told } as const;
    expectValue(await ledger.createInvitation({ ...invitation, ...terms }, OPERATOR));
  }

  test('mails to people are leased once, invitations last, tried again, and dropped when of no use', async () => {
    await mail('mail_1', 'invitation');
    await mail('mail_2', 'sign-in');
    // Times on record are whole milliseconds: a mail may be due half a millisecond later.
    await database.query("UPDATE outgoing_mails SET next_at = next_at - interval '1 second'");
    const due = await ledger.leaseMails(1, LEASE_MS);
    expect(due).toEqual([{ id: 'mail_2', kind: 'sign-in', sealed: 'sealed mail_2', failures: 0 }]);
    expect(await ledger.leaseMails(10, LEASE_MS)).toMatchObject([{ id: 'mail_1' }]);
    expect(await ledger.leaseMails(10, LEASE_MS)).toEqual([]);
    await ledger.recordMail('mail_1', undefined);
    await ledger.recordMail('mail_2', 0);
    await eventually('the mail is due again', async () => {
      const [again] = await ledger.leaseMails(10, LEASE_MS);
      return again?.id === 'mail_2' && again.failures === 1;
    });
    await database.query("UPDATE outgoing_mails SET expires_at = expires_at - interval '2 hours'");
    expect(await ledger.dropOldMessages(10)).toEqual({ deleted: 1, dropped: 1 });
  });
}

function range(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}
