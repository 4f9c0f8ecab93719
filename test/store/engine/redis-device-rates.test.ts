// Tests windows of requests in Redis: the size and the lifetime of those of devices, and a clock that is set
// back. The rules of every engine: rate-contract.

import { describe, expect, it } from 'vitest';
import { LIMIT } from '../../../src/contract/limit.ts';
import { keys } from '../../support/redis-keys.ts';
import { findRedis } from '../../support/redis-server.ts';
import { adminOf, connected, redisOf } from './redis-fixture.ts';

const hasRedis = findRedis() !== undefined;
if (!hasRedis) console.log('Skipped: device windows in Redis (no redis-server in PATH)');

const PER_MINUTE = LIMIT.deviceRequestsPerMinute;

describe.skipIf(!hasRedis)('a device window in Redis', () => {
  it('is one key, goes a window after the last request, and never holds more than was owed', async () => {
    const server = await redisOf();
    const { engine } = await connected(server.url);
    const admin = adminOf(server);
    for (let n = 0; n < PER_MINUTE + 30; n++) {
      const owed = n === 0 ? [{ id: 'owed', ageMs: 5 }] : [];
      await engine.settleDevices([{ device: '1f.2e', process: 'p', requestId: `${n}`, owed }]);
    }
    const key = keys.deviceRate('1f.2e');
    expect(await admin.keys('*')).toEqual([key]);
    const ttlMs = await admin.pttl(key);
    expect(ttlMs).toBeGreaterThan(LIMIT.rateWindowMs - 5000);
    expect(ttlMs).toBeLessThanOrEqual(LIMIT.rateWindowMs + 1);
    expect(await admin.zcard(key)).toBe(PER_MINUTE);
    // 120 requests with the longest names that a process gives them.
    expect(await admin.memory('USAGE', key)).toBeLessThan(16_384);
  });
});

describe.skipIf(!hasRedis)('a window of requests in Redis', () => {
  it('begins anew where the clock was set back by more than its length', async () => {
    const server = await redisOf();
    const { engine } = await connected(server.url);
    const [key, windowMs] = [keys.rate('caller'), 60_000];
    const isAllowed = async () => (await engine.countRequest('caller', 1, windowMs)).isAllowed;
    expect([await isAllowed(), await isAllowed()]).toEqual([true, false]);
    const micros = (Date.now() + 2 * windowMs) * 1000;
    await adminOf(server).lset(key, 0, String(micros));
    expect([await isAllowed(), await isAllowed()]).toEqual([true, false]);
  });
});
