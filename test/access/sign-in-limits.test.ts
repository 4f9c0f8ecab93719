// Tests the throttle of sign-ins: callers that try passwords are slowed, over all nodes and without the
// engine, and other callers cannot lock the owner of an account out; failed ones reach the audit log.

import { expect, it, onTestFinished, vi } from 'vitest';
import type { Passwords } from '../../src/access/passwords.ts';
import {
  FailedSignIns,
  type KnownBrowsers,
  LoginThrottle,
  SignInGate,
} from '../../src/access/sign-in-limits.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import { RareLog } from '../../src/observe/rare-log.ts';
import type { FailedSignIn } from '../../src/store/account-ledger.ts';
import { createMemoryEngine } from '../../src/store/memory/memory-engine.ts';
import { watchedEngine } from '../serving/serving-node.ts';
import { ledgerAway } from '../support/fake-ledger.ts';

const MINUTE_MS = 60_000;

function throttled() {
  let nowMs = 1_000_000;
  const engine = createMemoryEngine({ now: () => nowMs });
  const node = () =>
    new LoginThrottle({ engine, alone: createMemoryEngine(), metrics: new Metrics() });
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  return { node, pass };
}

it('counts over all nodes, and lets in again after a quarter of an hour', async () => {
  const { node, pass } = throttled();
  const nodes = [node(), node()];
  for (let count = 0; count < 10; count++) {
    expect(await nodes[count % 2]?.admit('a@b', '192.0.2.1')).toBeUndefined();
  }
  for (const each of nodes) {
    expect(await each.admit('a@b', '192.0.2.1')).toMatchObject({
      failure: 'rateLimited',
      retryAfterSeconds: 900,
    });
    expect(await each.admit('c@d', '192.0.2.1')).toBeUndefined();
  }
  pass(14 * MINUTE_MS);
  expect(await nodes[0]?.admit('a@b', '192.0.2.1')).toBeDefined();
  pass(MINUTE_MS);
  expect(await nodes[0]?.admit('a@b', '192.0.2.1')).toBeUndefined();
});

it('lets one in every five seconds when thirty addresses have tried, and a known address at any time', async () => {
  const { node, pass } = throttled();
  const throttle = node();
  await throttle.admit('a@b', 'home');
  await throttle.succeed('a@b', 'home');
  for (let count = 0; count < 29; count++) {
    expect(await throttle.admit('a@b', `stranger-${count}`)).toBeUndefined();
  }
  expect(await throttle.admit('a@b', 'stranger-30')).toBeUndefined();
  expect(await throttle.admit('a@b', 'stranger-31')).toMatchObject({ retryAfterSeconds: 5 });
  pass(5000);
  expect(await throttle.admit('a@b', 'stranger-32')).toBeUndefined();
  expect(await throttle.admit('a@b', 'stranger-33')).toBeDefined();
  expect(await throttle.admit('a@b', 'home')).toBeUndefined();
  expect(await throttle.admit('other@b', 'stranger-33')).toBeUndefined();
});

it('counts alone when the engine is away, and neither locks out nor opens the gate', async () => {
  const engine = watchedEngine();
  const alone = createMemoryEngine();
  const throttle = new LoginThrottle({ engine, alone, metrics: new Metrics() });
  await engine.close();
  const outcomes = [];
  for (let count = 0; count < 12; count++) outcomes.push(await throttle.admit('a@b', 'home'));
  expect(outcomes.filter((each) => each === undefined)).toHaveLength(10);
  await throttle.succeed('a@b', 'home');
  expect(await throttle.admit('a@b', 'home')).toBeUndefined();
});

it('counts the holders of links to an account together, so that making links adds no tries', async () => {
  const { node, pass } = throttled();
  const gate = new SignInGate({
    ...{ throttle: node(), metrics: new Metrics() },
    ledger: { findAccount: async () => undefined },
    passwords: { verify: async () => false } as unknown as Passwords,
    browsers: { recognise: async () => undefined } as unknown as KnownBrowsers,
    failed: { note: () => undefined } as unknown as FailedSignIns,
  });
  const tryBy = (address: string, hasLink: boolean) =>
    gate.try('a@b', 'guess', { address, hasLink, browser: undefined, agent: undefined });
  for (let count = 0; count < 10; count++) {
    expect(await tryBy(`holder-${count}`, true)).toMatchObject({ isRight: false });
  }
  expect(await tryBy('holder-10', true)).toMatchObject({ failure: 'rateLimited' });
  expect(await tryBy('home', false)).toMatchObject({ isRight: false });
  pass(15 * MINUTE_MS);
  expect(await tryBy('holder-10', true)).toMatchObject({ isRight: false });
});

it('failed ones are written once the ledger answers again, with those that were noted meanwhile', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const account = (id: string) => ({ id, email: `${id}@example.com` });
  const written: FailedSignIn[] = [];
  let isAway = false;
  const ledger = {
    async recordFailedSignIns(failed: FailedSignIn) {
      // It goes away in the middle of a batch.
      if (isAway || written.length === 1) throw ledgerAway();
      written.push(failed);
    },
  };
  const log = new RareLog({ warn: () => undefined });
  const failures = new FailedSignIns(ledger, log);
  for (const id of ['ada', 'ben', 'cleo']) failures.note(account(id), '192.0.2.1');
  await vi.advanceTimersByTimeAsync(1000);
  expect(written.map((each) => each.account.id)).toEqual(['ada']);
  isAway = true;
  failures.note(account('ben'), '192.0.2.2');
  await vi.advanceTimersByTimeAsync(3000);
  isAway = false;
  written.length = 0;
  ledger.recordFailedSignIns = async (failed) => void written.push(failed);
  await vi.advanceTimersByTimeAsync(1000);
  expect(written).toEqual([
    { account: account('ben'), failures: 2, address: '192.0.2.2' },
    { account: account('cleo'), failures: 1, address: '192.0.2.1' },
  ]);
});
