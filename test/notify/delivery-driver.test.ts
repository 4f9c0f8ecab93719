// Tests the driver of deliveries with a ledger in memory and a clock in the test's hands: side by side,
// bounded, and what follows from each try. What SQL adds is tested in test/store/ledger.

import { afterEach, describe, expect, it, vi } from 'vitest';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { DeliveryDriver } from '../../src/notify/delivery-driver.ts';
import type { TryOutcome } from '../../src/notify/delivery-state.ts';
import { createLog } from '../../src/observe/log.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import type { DueDelivery, DueMail, Places, TriedState } from '../../src/store/delivery-ledger.ts';
import { EVENTS } from './events.ts';

type Waiting = { readonly id: string; readonly event: string; failures: number };
type Send = (due: DueDelivery) => Promise<TryOutcome>;

const DELIVERED: TryOutcome = { kind: 'delivered', status: 200 };
const FAILED: TryOutcome = { kind: 'failed', status: 500, error: 'Answered 500' };
const never: Send = () => new Promise(() => undefined);

/** Ledger that holds messages by their destination, and hands out each destination once. */
class FakeLedger {
  readonly waiting = new Map<string, Waiting[]>();
  readonly slow = new Set<string>();
  /** What the driver said of its places at its last look. */
  held: readonly string[] = [];
  readonly leased = new Set<string>();
  readonly records: (readonly [delivery: string, state: TriedState['state']])[] = [];
  readonly disabled: (readonly [destination: string, why: string])[] = [];
  mails: DueMail[] = [];
  readonly mailRecords: (readonly [id: string, retryInMs: number | undefined])[] = [];
  fault: Error | undefined;
  failingMs: number | null = null;

  put(destination: string, ...deliveries: string[]): void {
    const before = this.waiting.get(destination) ?? [];
    const added = deliveries.map((id) => ({ id, event: `evt of ${id}`, failures: 0 }));
    this.waiting.set(destination, [...before, ...added]);
  }

  async leaseDestinations(_: string, { held, promptFree, slowFree }: Places) {
    if (this.fault !== undefined) throw this.fault;
    this.held = held.map(({ id, organizationId }) => `${id} of ${organizationId}`);
    const due = [...this.waiting].filter(([id, all]) => all.length > 0 && !this.leased.has(id));
    const ids = due.map(([id]) => ({ id, organizationId: 'org_1', isSlow: this.slow.has(id) }));
    const taken = [
      ...ids.filter(({ isSlow }) => !isSlow).slice(0, promptFree),
      ...ids.filter(({ isSlow }) => isSlow).slice(0, slowFree),
    ];
    for (const { id } of taken) this.leased.add(id);
    return taken;
  }

  async nextDelivery(id: string, _: string, { consoleUrl }: { readonly consoleUrl: string }) {
    const [next] = this.waiting.get(id) ?? [];
    const event = EVENTS[0]?.[0];
    if (next === undefined || event === undefined) return undefined;
    const url = 'https://a.example.com/';
    const place = {
      destinationId: id,
      kind: 'webhook',
      url,
      to: null,
      isConfirmed: false,
    } as const;
    const secrets = { sealed: 'sealed', former: null };
    const { id: delivery, failures } = next;
    const { failingMs } = this;
    return { id: delivery, ...place, ...secrets, event, failures, failingMs, consoleUrl };
  }

  async releaseDestination(id: string): Promise<void> {
    this.leased.delete(id);
  }

  async recordTry({ id, destinationId }: DueDelivery, _: unknown, { state }: TriedState) {
    this.records.push([id, state]);
    // What is due again later is gone from this moment's list.
    this.waiting.set(destinationId, (this.waiting.get(destinationId) ?? []).slice(1));
  }

  async disableDestination(id: string, why: string): Promise<boolean> {
    this.disabled.push([id, why]);
    return true;
  }

  async dropOldMessages() {
    return { deleted: 3, dropped: 2 };
  }

  async countWaitingMessages() {
    return { count: 7, oldestMs: 5000 };
  }

  async leaseMails(countMax: number): Promise<readonly DueMail[]> {
    return this.mails.splice(0, countMax);
  }

  async recordMail(id: string, retryInMs: number | undefined): Promise<void> {
    this.mailRecords.push([id, retryInMs]);
  }
}

function furnish(toDestination: Send = async () => DELIVERED, toPerson = async () => DELIVERED) {
  const ledger = new FakeLedger();
  const metrics = new Metrics();
  const clock = { ms: 0 };
  const driver = new DeliveryDriver({
    ...{ ledger, metrics, holder: 'node-1', consoleUrl: 'https://updates.example.com' },
    ...{ log: createLog('silent'), random: () => 0 },
    send: { toDestination, toPerson },
    now: () => clock.ms,
  });
  const counts = () => Object.fromEntries(metrics.notifications.counts);
  return { ledger, driver, clock, metrics, counts };
}

afterEach(() => void vi.useRealTimers());

describe('the driver', () => {
  it('sends the messages of a destination one after the other, in order', async () => {
    let running = 0;
    const { ledger, driver, counts } = furnish(async () => {
      running += 1;
      expect(running).toBe(1);
      await Promise.resolve();
      running -= 1;
      return DELIVERED;
    });
    ledger.put('dst_1', 'a', 'b', 'c');
    await driver.turn();
    await driver.settle();
    expect(ledger.records.map(([id]) => id)).toEqual(['a', 'b', 'c']);
    expect(ledger.leased.size).toBe(0);
    expect(counts()).toEqual({ delivered: 3, failed: 0, dropped: 2 });
  });

  it('sends to a bounded number at a time, and lets no slow receiver hold up another (§30.14)', async () => {
    const { ledger, driver } = furnish((due) =>
      due.destinationId.startsWith('dst_slow') ? never(due) : Promise.resolve(DELIVERED),
    );
    for (let index = 0; index < 100; index++) {
      // Half of them are known to be slow.
      if (index % 2 === 0) ledger.slow.add(`dst_slow${index}`);
      ledger.put(`dst_slow${index}`, `s${index}`);
    }
    for (let turn = 0; turn < 3; turn++) await driver.turn();
    expect([...ledger.leased].filter((id) => ledger.slow.has(id))).toHaveLength(16);
    expect(ledger.leased.size).toBe(48 + 16);
    const other = furnish((due) =>
      due.destinationId === 'slow' ? never(due) : Promise.resolve(DELIVERED),
    );
    other.ledger.put('slow', 'a');
    other.ledger.put('dst_1', 'b');
    await other.driver.turn();
    await expect.poll(() => other.ledger.records).toEqual([['b', 'delivered']]);
    other.ledger.put('dst_1', 'c');
    await other.driver.turn();
    await expect.poll(() => other.ledger.records.map(([id]) => id)).toEqual(['b', 'c']);
  });

  it('tells the ledger what it holds, for whom, until it is done', async () => {
    const done = new Map<string, () => void>();
    const { ledger, driver } = furnish(
      ({ destinationId }) =>
        new Promise((resolve) => done.set(destinationId, () => resolve(DELIVERED))),
    );
    ledger.put('dst_1', 'a');
    ledger.put('dst_2', 'b');
    await driver.turn();
    await driver.turn();
    expect(ledger.held).toEqual(['dst_1 of org_1', 'dst_2 of org_1']);
    done.get('dst_1')?.();
    await expect.poll(() => ledger.leased.size).toBe(1);
    await driver.turn();
    expect(ledger.held).toEqual(['dst_2 of org_1']);
  });

  it('gives the place of a destination with much to send to others', async () => {
    const { ledger, driver, clock } = furnish(async () => {
      clock.ms += 1000;
      return DELIVERED;
    });
    ledger.put('dst_1', ...'abcdef');
    await driver.turn();
    await driver.settle();
    expect(ledger.records).toHaveLength(2);
    expect(ledger.leased.size).toBe(0);
  });

  it('gives up a try that never ends, and keeps its places (§30.12)', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { ledger, driver, counts } = furnish(never, () => new Promise(() => undefined));
    for (let index = 0; index < 60; index++) ledger.put(`dst_${index}`, `d${index}`);
    ledger.mails = [{ id: 'mail_1', kind: 'invitation', sealed: '', failures: 0 }];
    for (let round = 0; round < 2; round++) {
      await driver.turn();
      await vi.advanceTimersByTimeAsync(12_000);
      await driver.settle();
    }
    expect(ledger.records).toHaveLength(60);
    expect(new Set(ledger.records.map(([, state]) => state))).toEqual(new Set(['waiting']));
    expect(ledger.leased.size).toBe(0);
    expect(ledger.mailRecords).toEqual([['mail_1', 5000]]);
    expect(counts()).toMatchObject({ delivered: 0, failed: 61 });
  });

  it('records a failure as waiting, and a receiver that is gone as disabled', async () => {
    const gone: TryOutcome = { kind: 'failed', status: 410, error: 'Answered 410', isGone: true };
    const { ledger, driver, counts } = furnish(async ({ id }) => (id === 'gone' ? gone : FAILED));
    ledger.put('dst_1', 'a');
    ledger.put('dst_2', 'gone');
    await driver.turn();
    await driver.settle();
    expect(Object.fromEntries(ledger.records)).toEqual({ a: 'waiting', gone: 'failed' });
    expect(ledger.disabled).toEqual([['dst_2', 'Answered 410']]);
    expect(counts()).toMatchObject({ failed: 2 });
    ledger.failingMs = 5 * 86_400_000;
    ledger.put('dst_3', 'b');
    await driver.turn();
    await driver.settle();
    const why = 'Nothing could be delivered for five days: Answered 500';
    expect(ledger.disabled).toContainEqual(['dst_3', why]);
  });

  it('waits while the ledger is away, and goes on', async () => {
    const { ledger, driver, metrics } = furnish();
    ledger.put('dst_1', 'a');
    ledger.fault = new Unavailable('ledger', 'away');
    await driver.turn();
    expect(metrics.faults.counts.get('notify')).toBe(1);
    ledger.fault = undefined;
    await driver.turn();
    await driver.settle();
    expect(ledger.records).toEqual([['a', 'delivered']]);
  });

  it('sends mails to people, and again what failed', async () => {
    const outcomes = [DELIVERED, FAILED];
    const { ledger, driver } = furnish(undefined, async () => outcomes.shift() ?? FAILED);
    const mail = { kind: 'invitation', sealed: '', failures: 0 } as const;
    ledger.mails = ['mail_1', 'mail_2'].map((id) => ({ id, ...mail }));
    await driver.turn();
    await driver.settle();
    expect(Object.fromEntries(ledger.mailRecords)).toEqual({ mail_1: undefined, mail_2: 5000 });
  });

  it('sends while it counts what waits, however much that is', async () => {
    const { ledger, driver, clock } = furnish();
    let counted = 0;
    ledger.countWaitingMessages = () => {
      counted += 1;
      return new Promise(() => undefined);
    };
    ledger.put('dst_1', 'a');
    await driver.turn();
    await expect.poll(() => counted).toBe(1);
    clock.ms = 15_000;
    ledger.put('dst_1', 'b');
    await driver.turn();
    await expect.poll(() => ledger.records.map(([id]) => id)).toEqual(['a', 'b']);
    expect(counted).toBe(1);
  });

  it('drops what is too old, and tells what waits, every 15 s', async () => {
    const { driver, clock, counts } = furnish();
    for (const ms of [0, 500, 14_999]) {
      clock.ms = ms;
      await driver.turn();
      await driver.settle();
    }
    expect(counts().dropped).toBe(2);
    clock.ms = 15_000;
    await driver.turn();
    await driver.settle();
    expect(counts().dropped).toBe(4);
    expect(driver.waiting).toEqual({ count: 7, oldestMs: 5000 });
  });
});
