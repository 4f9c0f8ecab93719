// Rules of the windows in which an engine counts requests: those of names, and those by which processes
// settle the requests of busy devices. The rule of settling is tested in
// test/domain/fleet/device-settling.test.ts.

import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { LIMIT } from '../../../src/contract/limit.ts';
import type { DeviceDebt } from '../../../src/domain/fleet/shared-window.ts';
import type { RateDecision } from '../../../src/store/engine.ts';
import type { EnginesUnderTest, Rule } from './engines-under-test.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const PER_MINUTE = LIMIT.deviceRequestsPerMinute;
const WINDOW_MS = LIMIT.rateWindowMs;
const ALLOWED = { isAllowed: true, waitMs: 0 };

export function rateRules(nodes: () => EnginesUnderTest, it: Rule): void {
  windowRules(nodes, it);
  deviceRules(nodes, it);
}

/** Expects a wait of so many milliseconds, less what the test itself took: a minute at most. */
function expectMs(waitMs: number, ms: number): void {
  expect(waitMs).toBeGreaterThan(ms - MINUTE_MS);
  expect(waitMs).toBeLessThanOrEqual(ms);
}

function windowRules(nodes: () => EnginesUnderTest, it: Rule): void {
  it('up to the limit requests are allowed, the next is refused until the oldest leaves', async () => {
    const { engine, second, pass } = nodes();
    const key = randomUUID();
    const first = await engine.countRequest(key, 3, HOUR_MS);
    expect(first).toEqual({ ...ALLOWED, remaining: 2, leaveMs: HOUR_MS });
    await pass(10 * MINUTE_MS);
    const next = await second.countRequest(key, 3, HOUR_MS);
    expect(next).toMatchObject({ ...ALLOWED, remaining: 1 });
    expectMs(next.leaveMs, 50 * MINUTE_MS);
    const last = await engine.countRequest(key, 3, HOUR_MS);
    expect(last).toMatchObject({ ...ALLOWED, remaining: 0 });
    const refused = await second.countRequest(key, 3, HOUR_MS);
    expect(refused).toMatchObject({ isAllowed: false, remaining: 0, leaveMs: refused.waitMs });
    expectMs(refused.waitMs, 50 * MINUTE_MS);
    // Places come free one by one, as they were taken.
    await pass(refused.waitMs);
    expect((await engine.countRequest(key, 3, HOUR_MS)).isAllowed).toBe(true);
    expect((await second.countRequest(key, 3, HOUR_MS)).isAllowed).toBe(false);
  });

  it('what is forgotten begins anew, on every node, and nothing else does', async () => {
    const { engine, second } = nodes();
    const [key, other] = [randomUUID(), randomUUID()];
    for (const each of [key, other]) await engine.countRequest(each, 1, HOUR_MS);
    await second.forgetRequests(key);
    await second.forgetRequests(randomUUID());
    expect((await engine.countRequest(key, 1, HOUR_MS)).isAllowed).toBe(true);
    expect((await engine.countRequest(key, 1, HOUR_MS)).isAllowed).toBe(false);
    expect((await engine.countRequest(other, 1, HOUR_MS)).isAllowed).toBe(false);
  });

  it('whoever waits as long as told is served, and nobody before: a refused request does not count', async () => {
    const { engine, pass } = nodes();
    const key = randomUUID();
    for (let round = 0; round < 3; round++) {
      expect((await engine.countRequest(key, 1, HOUR_MS)).isAllowed).toBe(true);
      for (const half of [1, 2]) {
        const { isAllowed, waitMs } = await engine.countRequest(key, 1, HOUR_MS);
        expect(isAllowed).toBe(false);
        expectMs(waitMs, HOUR_MS / half);
        await pass(half === 1 ? HOUR_MS / 2 : waitMs);
      }
    }
  });

  it('requests at once over all nodes are allowed exactly up to the limit', async () => {
    const { engine, second } = nodes();
    const key = randomUUID();
    const decisions = await Promise.all(
      Array.from({ length: 300 }, (_, index) =>
        (index % 2 === 0 ? engine : second).countRequest(key, 100, HOUR_MS),
      ),
    );
    expect(decisions.filter(({ isAllowed }) => isAllowed)).toHaveLength(100);
  });

  it('keys do not touch each other, whatever they are made of', async () => {
    const { engine } = nodes();
    const base = randomUUID();
    for (const key of [base, `${base}}`, `{${base}`, `}${base}`, `${base}:ü 🚀\r\n"`]) {
      expect((await engine.countRequest(key, 1, HOUR_MS)).isAllowed).toBe(true);
      expect((await engine.countRequest(key, 1, HOUR_MS)).isAllowed).toBe(false);
    }
  });
}

let requests = 0;

/** A request of a device through a process that owes requests of these ages. */
function debtOf(device: string, process: string, ...agesMs: number[]): DeviceDebt {
  requests += 1;
  const owed = agesMs.map((ageMs, n) => ({ id: `${requests}-owed-${n}`, ageMs }));
  return { device, process, requestId: `${requests}`, owed };
}

function ages(count: number, ageMs: number): number[] {
  return new Array<number>(count).fill(ageMs);
}

function deviceRules(nodes: () => EnginesUnderTest, it: Rule): void {
  const settle = async (debt: DeviceDebt): Promise<RateDecision> => {
    const [decision] = await nodes().engine.settleDevices([debt]);
    if (decision === undefined) throw new Error('no decision');
    return decision;
  };

  it('two processes share the limit of a device, to the last request', async () => {
    const { engine, second } = nodes();
    const device = randomUUID();
    const decisions = await Promise.all(
      Array.from({ length: 300 }, async (_, n) => {
        const [node, name] = n % 2 === 0 ? [engine, 'a'] : [second, 'b'];
        return (await node.settleDevices([debtOf(device, name as string)]))[0];
      }),
    );
    expect(decisions.filter((decision) => decision?.isAllowed)).toHaveLength(PER_MINUTE);
  });

  it('of 100 devices in one call each owes its own requests, none or many', async () => {
    const { engine, second } = nodes();
    const owedOf = (index: number) => (index % 3) * 60 - (index % 2);
    const debts = Array.from({ length: 100 }, (_, index) =>
      debtOf(randomUUID(), 'ü 🚀', ...ages(Math.max(0, owedOf(index)), index)),
    );
    expect(await engine.settleDevices(debts)).toEqual(debts.map(() => ALLOWED));
    const again = debts.map(({ device }) => debtOf(device, 'a'));
    const allowed = (await second.settleDevices(again)).map(({ isAllowed }) => isAllowed);
    // The first one of each is in the window, too.
    expect(allowed).toEqual(debts.map(({ owed }) => owed.length + 1 < PER_MINUTE));
    expect(await engine.settleDevices([])).toEqual([]);
  });

  it('what is owed counts from when it was let through; what has left the window does not', async () => {
    const device = randomUUID();
    expect(await settle(debtOf(device, 'a', ...ages(500, WINDOW_MS)))).toEqual(ALLOWED);
    await settle(debtOf(device, 'b', ...ages(118, 20_000)));
    const { isAllowed, waitMs } = await settle(debtOf(device, 'b'));
    expect(isAllowed).toBe(false);
    expect(waitMs).toBeGreaterThan(20_000);
    expect(waitMs).toBeLessThanOrEqual(40_000);
  });

  it('what is told twice counts once; the same from another process counts again', async () => {
    const device = randomUUID();
    const told = debtOf(device, 'a', ...ages(59, 20));
    for (let n = 0; n < 5; n++) expect(await settle(told)).toEqual(ALLOWED);
    expect(await settle({ ...told, process: 'b' })).toEqual(ALLOWED);
    expect((await settle(debtOf(device, 'a'))).isAllowed).toBe(false);
  });

  it('with more than the limit owed, the wait is until all but the limit have left', async () => {
    const device = randomUUID();
    const owed = [...ages(30, 50_000), ...ages(PER_MINUTE, 5000)];
    await settle(debtOf(device, 'a', ...owed));
    const { waitMs } = await settle(debtOf(device, 'a'));
    expect(waitMs).toBeGreaterThan(20_000);
    expect(waitMs).toBeLessThanOrEqual(55_000);
  });

  it('a refused request of a device does not count; once it has waited, it is served by any process', async () => {
    const { pass } = nodes();
    for (const process of ['a', 'b']) {
      const device = randomUUID();
      await settle(debtOf(device, 'a', ...ages(1, WINDOW_MS / 2), ...ages(118, 1000)));
      for (let n = 0; n < 20; n++) await settle(debtOf(device, 'a'));
      const { isAllowed, waitMs } = await settle(debtOf(device, 'a'));
      expect(isAllowed).toBe(false);
      expect(waitMs).toBeLessThanOrEqual(WINDOW_MS / 2);
      await pass(waitMs);
      const owed = process === 'a' ? [] : ages(12, 500);
      expect(await settle(debtOf(device, process, ...owed))).toEqual(ALLOWED);
      expect((await settle(debtOf(device, process))).isAllowed).toBe(false);
    }
  });
}
