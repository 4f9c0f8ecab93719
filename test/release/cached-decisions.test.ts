// Tests decisions that a cache can keep with nginx in front, as deploy/nginx-cache.conf sets it up
// (docs/contract.md 28.8): how often the service is asked, when a pause arrives, and what clients are told
// while the service is away. All times of the service are divided by 10; those of nginx are its own.

import { Agent } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, sleep } from '../support/eventually.ts';
import { type HastyOrigin, startHastyOrigin } from '../support/hasty-origin.ts';
import { ask } from '../support/http-ask.ts';
import {
  type CacheFront,
  findNginx,
  findOpenssl,
  startNginxCache,
} from '../support/nginx-front.ts';
import { type ServingNode, startNode } from '../support/node.ts';
import { ARTIFACT, createTenant, type Tenant } from '../support/tenant.ts';

type Told = { readonly status: number; readonly version: string | undefined };

const SCALE = 10;
const FRESH_MS = 30_000 / SCALE;
/** Longest time in which clients are told what was so before a change, while the service answers. */
const SEEN_MS = 61_000 / SCALE;
/** Longest such time while it does not. */
const SEEN_AWAY_MS = 660_000 / SCALE;
/** Time that nginx may add to one of its own, because it counts whole seconds. */
const WHOLE_SECOND_MS = 1000;
const CLIENTS = 16;
const ARCHES = ['x86_64', 'aarch64', 'riscv64'];
const KEYS_MAX = ARCHES.length * 100;

const isMissing = findNginx() === undefined || findOpenssl() === undefined;
const title = 'decisions in the cache of nginx';

describe.skipIf(isMissing)(isMissing ? `${title} (skipped: no nginx or openssl)` : title, () => {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  let node: ServingNode;
  let origin: HastyOrigin;
  let front: CacheFront;
  let tenant: Tenant;

  beforeAll(async () => {
    node = await startNode();
    tenant = await createTenant(node);
    const artifacts = ARCHES.map((arch) => ({ ...ARTIFACT, arch }));
    await tenant.publish('1.1.0', { artifacts });
    await tenant.publish('1.2.0', { artifacts, rollout: 30 });
    origin = await startHastyOrigin(node.url, SCALE);
    front = await startNginxCache(origin.address);
  });
  afterAll(async () => {
    agent.destroy();
    await front?.stop();
    await origin?.stop();
    await node?.dispose();
  });

  async function askFor(slice: number, arch = 'x86_64', version = '1.0.0'): Promise<Told> {
    const url = `${front.url}/c/${tenant.app}/stable/linux/${arch}/${version}/${slice}`;
    const { status, text } = await ask(url, { agent });
    return { status, version: status === 200 ? JSON.parse(text).version : undefined };
  }

  /** Asks for all keys in turn, as 16 clients do, for a while; tells each answer. */
  async function load(ms: number, note: (reply: Told) => void = () => {}): Promise<number> {
    const until = performance.now() + ms;
    let next = 0;
    const client = async () => {
      while (performance.now() < until) {
        const key = next++ % KEYS_MAX;
        note(await askFor(key % 100, ARCHES[Math.floor(key / 100)]));
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
    return next;
  }

  it('ask the service at most 1.1 times for each key in use in 30 s (§28.8)', async () => {
    await load(FRESH_MS);
    const [before, beganAt] = [origin.requests(), performance.now()];
    const asked = await load(4 * FRESH_MS);
    const requests = origin.requests() - before;
    const periods = (performance.now() - beganAt) / FRESH_MS;
    expect(requests / periods).toBeLessThanOrEqual(1.1 * KEYS_MAX);
    expect(asked).toBeGreaterThan(3 * requests);
  });

  it('tell a pause within 61 s, keys that are asked for seldom among them (§28.8)', async () => {
    // Keys of another version, which nobody asks for again before the time is over.
    const seldom = [0, 10, 29];
    for (const slice of seldom) {
      expect((await askFor(slice, 'x86_64', '1.0.1')).version).toBe('1.2.0');
    }
    expect((await tenant.control('1.2.0', { status: 'paused' })).status).toBe(200);
    const pausedAt = performance.now();
    let lastAt = pausedAt;
    await load(SEEN_MS + WHOLE_SECOND_MS, ({ version }) => {
      if (version === '1.2.0') lastAt = performance.now();
    });
    expect(lastAt - pausedAt).toBeLessThan(SEEN_MS);
    for (const slice of seldom) {
      expect((await askFor(slice, 'x86_64', '1.0.1')).version).toBe('1.1.0');
    }
    expect((await tenant.control('1.2.0', { status: 'published' })).status).toBe(200);
    await load(SEEN_MS + WHOLE_SECOND_MS);
    expect((await askFor(0)).version).toBe('1.2.0');
  });

  it('go on for 10 minutes without the service, and tell nothing older than 11 (§28.8)', async () => {
    await load(FRESH_MS / 2);
    await origin.goAway();
    const goneAt = performance.now();
    expect((await tenant.control('1.2.0', { status: 'paused' })).status).toBe(200);
    while (performance.now() - goneAt < 590_000 / SCALE) {
      const replies = await Promise.all(ARCHES.map((arch) => askFor(5, arch)));
      expect(replies.map(({ status, version }) => [status, version])).toEqual(
        ARCHES.map(() => [200, '1.2.0']),
      );
      await sleep(500);
    }
    await sleep(SEEN_AWAY_MS - (performance.now() - goneAt));
    expect(await askFor(5)).toEqual({ status: 503, version: undefined });
    await origin.comeBack();
    // nginx leaves a server out for two seconds after it was refused.
    await eventually('it asks the service again', async () => (await askFor(5)).status === 200);
    expect(await askFor(5)).toEqual({ status: 200, version: '1.1.0' });
  });
});
