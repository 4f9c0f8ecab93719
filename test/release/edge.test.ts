// Tests an edge against faults (docs/contract.md 29): its upstream away under load, a cut and a silent
// connection, and its own kill. In full the upstream is away for ten minutes instead of some seconds.

import { randomUUID } from 'node:crypto';
import { cpSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeOnBackends } from '../support/backend.ts';
import { arrives, type EdgeOnAWay, offeredBy, startEdgeOnAWay } from '../support/edge-arrival.ts';
import { makeEdgeToken, startEdge } from '../support/edge-node.ts';
import { eventually, sleep } from '../support/eventually.ts';
import { IS_FULL } from '../support/full-run.ts';
import { type ServingNode, startNode } from '../support/node.ts';
import { startProxy } from '../support/tcp-proxy.ts';
import {
  check,
  control,
  createTenant,
  devicesOf,
  publish,
  type Tenant,
} from '../support/tenant.ts';

const AWAY_MS = IS_FULL ? 600_000 : 4000;
/** Time in which what an edge has answered is on its disk: promised are 100 ms on a disk that follows. */
const SYNCED_MS = 250;
const ASK_INTERVAL_MS = 20;
const PAGE_SIZE = 1000;
/** Time in which the service records what has come together: a quarter of that time, or a minute. */
const RECORDED_MS_MAX = Math.max(60_000, AWAY_MS / 4);

describeOnBackends('an edge', (backend) => {
  let upstream: ServingNode;
  const ends: (() => Promise<unknown> | unknown)[] = [];
  beforeAll(async () => {
    upstream = await backend.start({ SECRET_KEY: 'a key of the tests' });
  });
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
    await upstream?.dispose();
  });

  async function edgeOnAWay(): Promise<EdgeOnAWay> {
    const started = await startEdgeOnAWay(upstream);
    ends.push(
      () => started.way.close(),
      () => started.edge.dispose(),
    );
    return started;
  }

  async function withRelease(...versions: string[]): Promise<Tenant> {
    const tenant = await createTenant(upstream);
    for (const version of versions) await publish(upstream, tenant, version);
    return tenant;
  }

  it('and its upstream: a rollout is bounded by what an edge has offered (§29.4)', async () => {
    const { edge } = await edgeOnAWay();
    const tenant = await createTenant(upstream);
    await publish(upstream, tenant, '1.0.0', { rollout: 50 });
    await eventually('somebody is offered it', async () => {
      return (await offeredBy(edge, tenant)) === '1.0.0';
    });
    expect((await control(upstream, tenant, '1.0.0', { rollout: 10 })).status).toBe(422);
  });

  describe('without its upstream', () => {
    it('offers only what was offered before; else the next release down, then 503 (§29.4)', async () => {
      const { edge, way } = await edgeOnAWay();
      const tenant = await withRelease('1.0.0');
      await arrives(edge, tenant, '1.0.0');
      const untouched = await withRelease('1.0.0');
      await publish(upstream, tenant, '2.0.0', { status: 'paused' });
      await eventually('the edge knows the other app', async () => {
        return (await check(edge, untouched, '1.0.0')).status === 204;
      });
      way.blackhole();
      way.cut();
      expect((await check(edge, untouched, '0.9.0', { device: 'a' })).status).toBe(503);
      expect(await offeredBy(edge, tenant)).toBe('1.0.0');
      way.heal();
      await arrives(edge, untouched, '1.0.0');
    });

    it('gives no wrong answer, loses no check-in on disk, and is right soon after (§29.5, §29.6)', {
      timeout: 2 * AWAY_MS + 120_000,
    }, async () => {
      const { edge: first, way } = await edgeOnAWay();
      const tenant = await withRelease('1.0.0');
      await arrives(first, tenant, '1.0.0');
      const load = new Load(tenant, '1.0.0');
      load.begin(first);
      way.blackhole();
      way.cut();
      await publish(upstream, tenant, '2.0.0');
      await sleep(AWAY_MS / 2);
      const killedAt = performance.now();
      await first.kill();
      const second = await first.restart();
      ends.push(() => second.dispose());
      load.begin(second);
      await sleep(AWAY_MS / 2);
      load.expect('2.0.0');
      way.heal();
      await arrives(second, tenant, '2.0.0');
      await load.end();
      expect(load.wrong).toEqual([]);
      // What the kill may have taken with it: answered, and not on disk yet.
      const certain = load.answered.filter(
        ({ at }) => at < killedAt - SYNCED_MS || at > killedAt + SYNCED_MS,
      );
      expect(certain.length).toBeGreaterThan(100);
      let recorded: ReadonlySet<string> = new Set();
      const missing = () => certain.filter(({ device }) => !recorded.has(device)).length;
      const areThere = async () => {
        await sleep(1000);
        recorded = await devicesOnRecord(tenant);
        return missing() === 0;
      };
      await eventually('all are on record', areThere, RECORDED_MS_MAX).catch((error: Error) => {
        throw new Error(`${missing()} of ${certain.length} are missing`, { cause: error });
      });
      const lost = load.answered.filter(({ device }) => !recorded.has(device));
      const ages = lost.map(({ at }) => Math.round(killedAt - at));
      console.log(
        `edge: ${load.answered.length} checks answered, ${lost.length} lost with the kill, ` +
          `answered at most ${Math.max(0, ...ages)} ms before it`,
      );
    });
  });

  async function devicesOnRecord(tenant: Tenant): Promise<ReadonlySet<string>> {
    const devices = new Set<string>();
    for (let after = ''; ; ) {
      const page = await devicesOf(upstream, tenant, `limit=${PAGE_SIZE}&after=${after}`);
      for (const { deviceId } of page) devices.add(String(deviceId));
      if (page.length < PAGE_SIZE) return devices;
      after = String(page.at(-1)?.deviceId);
    }
  }
});

describe('an edge of a service whose ledger went back', () => {
  const timeout = 120_000;
  it('follows the newer epoch, though its revisions are lower (§29.3)', { timeout }, async () => {
    const settings = { SECRET_KEY: 'a key of the tests' };
    let service = await startNode(settings);
    const way = await startProxy(Number(new URL(service.url).port));
    const { secret } = await makeEdgeToken(service);
    const edge = await startEdge(`http://127.0.0.1:${way.port}`, secret);
    try {
      const tenant = await createTenant(service);
      await publish(service, tenant, '1.0.0');
      const offers = (version: string) =>
        eventually(
          `${version} is offered`,
          async () => {
            await sleep(ASK_INTERVAL_MS);
            const device = randomUUID();
            return (await check(edge, tenant, '0.9.0', { device })).body?.version === version;
          },
          30_000,
        );
      await offers('1.0.0');
      await service.stop();
      const [ledger, backup] = [join(service.dataDir, 'ledger'), join(service.dataDir, 'backup')];
      cpSync(ledger, backup, { recursive: true });
      service = await service.restart();
      way.moveTo(Number(new URL(service.url).port));
      for (const version of ['2.0.0', '3.0.0']) await publish(service, tenant, version);
      await offers('3.0.0');
      await service.stop();
      rmSync(ledger, { recursive: true });
      renameSync(backup, ledger);
      service = await service.restart();
      way.moveTo(Number(new URL(service.url).port));
      await offers('1.0.0');
      await publish(service, tenant, '1.1.0');
      await offers('1.1.0');
    } finally {
      await edge.dispose();
      await way.close();
      await service.dispose();
    }
  });
});

/** Devices that ask an edge, each once, and what they were answered. */
class Load {
  readonly answered: { readonly device: string; readonly at: number }[] = [];
  readonly wrong: string[] = [];
  private readonly tenant: Tenant;
  private readonly versions: unknown[];
  private edge: ServingNode | undefined;
  private running: Promise<void> | undefined;
  private isOver = false;

  constructor(tenant: Tenant, version: string) {
    this.tenant = tenant;
    this.versions = [version];
  }

  /** Asks this edge from now on. */
  begin(edge: ServingNode): void {
    this.edge = edge;
    this.running ??= this.run();
  }

  /** Says that this version is right as well from now on. */
  expect(version: string): void {
    this.versions.push(version);
  }

  async end(): Promise<void> {
    this.isOver = true;
    await this.running;
  }

  private async run(): Promise<void> {
    while (!this.isOver) {
      const device = randomUUID();
      const edge = this.edge as ServingNode;
      // An edge that was killed does not answer, which is no wrong answer.
      const answer = await check(edge, this.tenant, '0.9.0', { device }).catch(() => undefined);
      if (answer !== undefined && answer.status !== 503) {
        const version = answer.status === 200 ? answer.body?.version : answer.status;
        if (this.versions.includes(version)) this.answered.push({ device, at: performance.now() });
        else this.wrong.push(`${version}`);
      }
      await sleep(answer === undefined ? ASK_INTERVAL_MS : 5);
    }
  }
}
