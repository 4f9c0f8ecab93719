// Rules of places for deliveries in the ledger port: the share of each organization, and the places of slow
// receivers (docs/contract.md 30.14).

import { beforeEach, expect, test } from 'vitest';
import type { DeliveryTry } from '../../../src/contract/notification.ts';
import type { LeasedDestination } from '../../../src/store/delivery-ledger.ts';
import { createTenant, type TestTenant } from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

const LEASE_MS = 60_000;
const TERMS = { leaseMs: LEASE_MS, consoleUrl: 'https://updates.example.com' };
const NODE = 'a';

export function describeDeliveryPlaces({ database, ledger }: LedgerUnderTest): void {
  // Leases look at all destinations.
  beforeEach(async () => {
    await database.query('DELETE FROM notification_destinations');
    await database.query('DELETE FROM notification_events');
  });

  /** Makes an organization with so many destinations, and messages for them. */
  async function furnish(count: number, messages = 1): Promise<TestTenant> {
    const tenant = await createTenant(ledger);
    for (let index = 0; index < count; index++) await tenant.listen();
    for (let index = 0; index < messages; index++) {
      await tenant.release(`1.0.${index}`);
    }
    return tenant;
  }

  /** Fills the free places of a node that holds some. */
  async function lease(
    held: readonly LeasedDestination[],
    promptFree: number,
    slowFree = 0,
  ): Promise<readonly LeasedDestination[]> {
    return await ledger.leaseDestinations(NODE, { held, promptFree, slowFree }, LEASE_MS);
  }

  /** Gives destinations back one after the other, as they stand. */
  async function release(leased: readonly LeasedDestination[]): Promise<void> {
    for (const { id } of leased) await ledger.releaseDestination(id, NODE);
  }

  const countOf = (leased: readonly LeasedDestination[], { organizationId }: TestTenant) =>
    leased.filter((each) => each.organizationId === organizationId).length;

  /** Tries the next message of a destination, which takes so long. */
  async function tryOnce(id: string, ms: number, isDelivered = true): Promise<void> {
    const due = await ledger.nextDelivery(id, NODE, TERMS);
    if (due === undefined) throw new Error('nothing is due');
    const tried: DeliveryTry = { at: '2026-08-01T00:00:00.000Z', status: 200, error: null, ms };
    const next = isDelivered
      ? ({ state: 'delivered' } as const)
      : ({ state: 'waiting', inMs: 0 } as const);
    await ledger.recordTry(due, tried, next);
  }

  test('an organization alone gets half of the places, and keeps to it', async () => {
    await furnish(10);
    const held = await lease([], 8);
    expect(held).toHaveLength(4);
    expect(await lease(held, 4)).toEqual([]);
    await release(held.slice(0, 1));
    expect(await lease(held.slice(1), 5)).toHaveLength(1);
    // One that holds less comes first.
    const other = await furnish(10);
    const taken = await lease(held.slice(1), 5);
    expect([taken.length, countOf(taken, other)]).toEqual([3, 3]);
  });

  test('organizations that want more than there is get as many places, and some stay free', async () => {
    const tenants = [await furnish(10), await furnish(10), await furnish(10)];
    const held = await lease([], 8);
    expect(tenants.map((tenant) => countOf(held, tenant))).toEqual([2, 2, 2]);
  });

  test('an organization that comes later finds a place, and takes the last one', async () => {
    await furnish(8);
    let held = await lease([], 8);
    const counts: number[] = [held.length];
    for (let free = 8 - held.length; free > 0; free = 8 - held.length) {
      await furnish(8);
      const taken = await lease(held, free);
      counts.push(taken.length);
      held = [...held, ...taken];
    }
    expect(counts).toEqual([4, 2, 1, 1]);
  });

  test('organizations that hold as much come in turn, however many destinations they have', async () => {
    const greedy = await furnish(10, 10);
    const others = [await furnish(1, 10), await furnish(1, 10)];
    const served: number[] = [];
    for (let round = 0; round < 6; round++) {
      const taken = await lease([], 1);
      served.push([greedy, ...others].findIndex((tenant) => countOf(taken, tenant) === 1));
      await release(taken);
    }
    expect([...served.slice(0, 3)].sort()).toEqual([0, 1, 2]);
    expect(served.slice(3)).toEqual(served.slice(0, 3));
  });

  test('of an organization, the destination that was served least recently comes first', async () => {
    await furnish(3, 5);
    const ids: (string | undefined)[] = [];
    for (let round = 0; round < 4; round++) {
      const taken = await lease([], 1);
      ids.push(taken[0]?.id);
      await release(taken);
    }
    expect(new Set(ids.slice(0, 3)).size).toBe(3);
    expect(ids[3]).toBe(ids[0]);
  });

  test('receivers that fail or take long have places of their own', async () => {
    await furnish(3, 10);
    const all = await lease([], 100);
    const [prompt = '', slow = '', failing = ''] = all.map(({ id }) => id);
    await tryOnce(prompt, 2000);
    await tryOnce(slow, 2001);
    await tryOnce(failing, 1, false);
    await release(all);
    const leased = async (promptFree: number, slowFree: number) => {
      const found = await lease([], promptFree, slowFree);
      await release(found);
      return found.map(({ id, isSlow }) => [id, isSlow]).sort();
    };
    expect(await leased(100, 0)).toEqual([[prompt, false]]);
    expect(await leased(0, 100)).toEqual(
      [
        [failing, true],
        [slow, true],
      ].sort(),
    );
  });

  test('a slow receiver is prompt again after some prompt tries, one that failed after a success', async () => {
    await furnish(2, 20);
    const all = await lease([], 100);
    const [slow = '', failing = ''] = all.map(({ id }) => id);
    await tryOnce(slow, 9000);
    await tryOnce(failing, 1, false);
    await release(all);
    const trySlow = async () => {
      const found = await lease([], 0, 100);
      for (const { id } of found) await tryOnce(id, 0);
      await release(found);
      return found.map(({ id }) => id).sort();
    };
    expect(await trySlow()).toEqual([failing, slow].sort());
    for (let tries = 2; tries <= 3; tries++) expect(await trySlow()).toEqual([slow]);
    expect(await trySlow()).toEqual([]);
  });
}
