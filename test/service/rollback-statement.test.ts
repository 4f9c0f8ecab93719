// Tests that what the console says before a rollback is what becomes of the devices: on random fleets and
// catalogs, it agrees with what each device is then answered (docs/console.md, releases/rehearse-serving).

import { expect, it } from 'vitest';
import type { RunnerEffect } from '../../src/contract/dry-run.ts';
import { randomFrom } from '../store/ledger/fleet-fixture.ts';
import { IS_FULL } from '../support/full-run.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { admin, createTenant, type Tenant } from '../support/tenant.ts';

const FLEETS = IS_FULL ? 24 : 16;
/** Fewer than dry runs may wait: one more is refused. */
const AT_ONCE = 4;
const BROKEN = '2.0.0';
const PLATFORMS = ['linux', 'darwin', 'windows'];
const ARCHES = ['x86_64', 'aarch64'];
const RINGS = ['a', 'b'];

serviceSuite('the statement of a rollback', (node) => {
  it(`agrees with what each device is answered, in ${FLEETS} fleets and catalogs`, async () => {
    const seen = { going: 0, staying: 0, mixed: 0 };
    for (let from = 0; from < FLEETS; from += AT_ONCE) {
      const seeds = Array.from({ length: Math.min(AT_ONCE, FLEETS - from) }, (_, at) => from + at);
      const ways = await Promise.all(seeds.map(rollBack));
      for (const { going, staying } of ways) {
        seen.going += going;
        seen.staying += staying;
        if (going > 0 && staying > 0) seen.mixed += 1;
      }
    }
    // Fleets in which nothing happens would show nothing.
    expect(seen.going).toBeGreaterThan(FLEETS);
    expect(seen.staying).toBeGreaterThan(FLEETS);
    expect(seen.mixed).toBeGreaterThan(FLEETS / 8);
  }, 240_000);

  /**
   * Rolls a release back in a fleet that follows from the seed, and compares what was said with what came.
   */
  async function rollBack(seed: number): Promise<{ going: number; staying: number }> {
    // Far apart, because the first numbers of neighbours are alike.
    const next = randomFrom(Math.imul(seed + 1, 0x9e3779b9));
    const tenant = await createTenant(node);
    await publishOlder(tenant, next);
    await tenant.publish(BROKEN, { artifacts: artifactsFor(PLATFORMS) });
    const devices = fleetOf(next);
    expect((await tenant.report(devices)).status).toBe(200);
    const change = { app: tenant.app, channel: 'stable', version: BROKEN, status: 'rolled_back' };
    const { status, body } = await admin(node, 'POST', 'releases/rehearse-serving', change);
    expect(status).toBe(200);
    const told = new Map<string, number>();
    const { runners: said } = body as { runners: readonly RunnerEffect[] };
    for (const { platform, arch, to, devices: count } of said) {
      const key = `${platform}/${arch} ${to}`;
      told.set(key, (told.get(key) ?? 0) + count);
    }
    expect((await tenant.control(BROKEN, { status: 'rolled_back' })).status).toBe(200);
    const came = new Map<string, number>();
    const runners = devices.filter(({ version }) => version === BROKEN);
    for (const { deviceId, platform, arch } of runners) {
      const answer = await tenant.check(BROKEN, { device: deviceId, platform, arch });
      expect([200, 204], `seed ${seed}: ${answer.text}`).toContain(answer.status);
      const key = `${platform}/${arch} ${answer.body?.version ?? null}`;
      came.set(key, (came.get(key) ?? 0) + 1);
    }
    expect(Object.fromEntries(told), `seed ${seed}`).toEqual(Object.fromEntries(came));
    const staying = [...came].filter(([key]) => key.endsWith(' null'));
    const stayed = staying.reduce((sum, [, count]) => sum + count, 0);
    return { going: runners.length - stayed, staying: stayed };
  }

  async function publishOlder(tenant: Tenant, next: () => number): Promise<void> {
    for (const version of ['1.0.0', '1.1.0', '1.2.0'].slice(0, 1 + Math.floor(next() * 3))) {
      const platforms = PLATFORMS.filter(() => next() < 0.6);
      const ring = RINGS[Math.floor(next() * RINGS.length)] ?? 'a';
      const answer = await tenant.publish(version, {
        artifacts: artifactsFor(platforms.length === 0 ? ['linux'] : platforms),
        rollout: [100, 100, 60, 20][Math.floor(next() * 4)],
        status: next() < 0.85 ? 'published' : 'paused',
        ...(next() < 0.3 ? { targets: { matchLabels: { ring: [ring] } } } : {}),
      });
      expect(answer.status).toBe(201);
    }
  }
});

function fleetOf(next: () => number) {
  return Array.from({ length: 10 }, (_, index) => ({
    deviceId: `device-${index}-${Math.floor(next() * 1e9)}`,
    version: next() < 0.8 ? BROKEN : '1.0.0',
    platform: PLATFORMS[Math.floor(next() * PLATFORMS.length)] ?? 'linux',
    arch: ARCHES[Math.floor(next() * ARCHES.length)] ?? 'x86_64',
    labels: { ring: RINGS[Math.floor(next() * RINGS.length)] ?? 'a' },
  }));
}

function artifactsFor(platforms: readonly string[]) {
  return platforms.flatMap((platform) =>
    ARCHES.map((arch) => ({ platform, arch, url: `https://x.example/${platform}-${arch}` })),
  );
}
