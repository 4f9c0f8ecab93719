// The part of the engine contract by which processes settle the requests of busy devices. The rule itself is
// tested in test/device-limit/device-settling.test.ts.

import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { LIMIT } from '../../src/contract/limit.ts';
import type { DeviceDebt } from '../../src/device-limit/shared-window.ts';
import type { RateDecision } from '../../src/ports/rate-decision.ts';
import { sleep } from '../support/eventually.ts';
import type { EnginesUnderTest } from './engines-under-test.ts';

const PER_MINUTE = LIMIT.deviceRequestsPerMinute;
const WINDOW_MS = LIMIT.rateWindowMs;
const ALLOWED = { isAllowed: true, waitMs: 0 };
const TIMER_SLACK_MS = 3;

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

export function deviceRateRules(nodes: () => EnginesUnderTest): void {
  const settle = async (debt: DeviceDebt): Promise<RateDecision> => {
    const [decision] = await nodes().engine.settleDevices([debt]);
    if (decision === undefined) throw new Error('no decision');
    return decision;
  };

  it('two processes share the limit, to the last request', async () => {
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

  it('many devices are settled in one call, each for itself, in order', async () => {
    const { engine } = nodes();
    const [full, fresh] = [randomUUID(), randomUUID()];
    await engine.settleDevices([debtOf(full, 'a', ...ages(PER_MINUTE, 10))]);
    const debts = [debtOf(full, 'a'), debtOf(fresh, 'a')];
    const [first, second] = await engine.settleDevices([...debts, debtOf(randomUUID(), 'a')]);
    expect(first?.isAllowed).toBe(false);
    expect(second).toEqual(ALLOWED);
    expect(await engine.settleDevices([])).toEqual([]);
  });

  it('what is owed counts from when it was let through; what has left the window does not', async () => {
    const device = randomUUID();
    expect(await settle(debtOf(device, 'a', ...ages(500, WINDOW_MS)))).toEqual(ALLOWED);
    await settle(debtOf(device, 'b', ...ages(118, 40_000)));
    const { isAllowed, waitMs } = await settle(debtOf(device, 'b'));
    expect(isAllowed).toBe(false);
    expect(waitMs).toBeGreaterThan(19_000);
    expect(waitMs).toBeLessThanOrEqual(20_000);
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
    const owed = [...ages(30, 50_000), ...ages(PER_MINUTE, 10_000)];
    await settle(debtOf(device, 'a', ...owed));
    const { waitMs } = await settle(debtOf(device, 'a'));
    expect(waitMs).toBeGreaterThan(49_000);
    expect(waitMs).toBeLessThanOrEqual(50_000);
  });

  it('a refused request does not count, and whoever waits is served', async () => {
    const device = randomUUID();
    const soon = WINDOW_MS - 300;
    let last = await settle(debtOf(device, 'a', ...ages(1, soon), ...ages(118, 1000)));
    expect(last).toEqual(ALLOWED);
    for (let n = 0; n < 20; n++) last = await settle(debtOf(device, 'a'));
    expect(last.isAllowed).toBe(false);
    expect(last.waitMs).toBeLessThanOrEqual(300);
    await sleep(last.waitMs + TIMER_SLACK_MS);
    expect(await settle(debtOf(device, 'a'))).toEqual(ALLOWED);
    expect((await settle(debtOf(device, 'a'))).isAllowed).toBe(false);
  });

  it('whoever has waited is served through a process that still owed; once', async () => {
    const device = randomUUID();
    const soon = WINDOW_MS - 200;
    await settle(debtOf(device, 'a', ...ages(1, soon), ...ages(118, 1000)));
    const { waitMs } = await settle(debtOf(device, 'a'));
    await sleep(waitMs + TIMER_SLACK_MS);
    expect(await settle(debtOf(device, 'b', ...ages(12, 5000)))).toEqual(ALLOWED);
    expect((await settle(debtOf(device, 'b'))).isAllowed).toBe(false);
  });
}
