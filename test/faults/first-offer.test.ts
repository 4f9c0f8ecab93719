// Tests first offers of a node whose PostgreSQL is far, slow or gone, or which is frozen in the middle of one
// (docs/contract.md 14.2 to 14.4).

import pg from 'pg';
import { beforeAll, expect, it } from 'vitest';
import { logLines } from '../support/admin-address.ts';
import { describeOnRealStores } from '../support/backend.ts';
import { type Cluster, type ClusterNode, startCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { expectUnavailable } from '../support/expect-error.ts';
import { endWithSuite } from '../support/own.ts';
import { type NetworkProxy, startProxy } from '../support/tcp-proxy.ts';
import { admin, createTenant, send, type Tenant } from '../support/tenant.ts';

const ROUND_TRIP_MS = 400;
const ANNOUNCEMENT = 'sluice:announcements';
/** Artifact that suits update checks and update files. */
const INSTALLER = { platform: 'linux', url: 'https://a.example/a.AppImage', sha512: 'c3Vt' };
const DEVICE = { deviceId: 'd', version: '0.9.0', platform: 'linux', arch: 'x86_64' };

describeOnRealStores('a first offer', () => {
  let cluster: Cluster;
  let near: ClusterNode;
  let network: NetworkProxy;

  beforeAll(async () => {
    cluster = await startCluster();
    network = await startProxy(cluster.postgres.port);
    near = await cluster.addNode();
  });
  endWithSuite(() => [cluster, network]);

  /** Starts a node that reaches PostgreSQL through `network`. */
  function addFarNode(settings = {}): Promise<ClusterNode> {
    const far = new URL(cluster.databaseUrl);
    far.port = String(network.port);
    return cluster.addNode({ DATABASE_URL: far.href, ...settings });
  }

  it('in which its node is frozen does not hold up a pause (§14.4)', async () => {
    const tenant = await createTenant(near, ['1.0.0']);
    const far = await addFarNode();
    await tenant.at(far).untilOffered('1.0.0');
    network.delay(100);
    await tenant.publish('1.1.0');
    const { rows } = await cluster.query<{ now: string }>('SELECT clock_timestamp()::text AS now');
    const since = rows[0]?.now;
    let isFrozen = false;
    const asking = (async () => {
      while (!isFrozen)
        await tenant
          .at(far)
          .check('0.9.0')
          .catch(() => undefined);
    })();
    await eventually('the node is inside its first offer', async () => {
      const { rows } = await cluster.query(
        `SELECT FROM pg_stat_activity WHERE application_name = 'sluice'
         AND query_start > '${since}' AND query ~ 'FOR SHARE|record_first_offer'`,
      );
      return rows.length > 0;
    });
    process.kill(far.process.pid, 'SIGSTOP');
    isFrozen = true;
    // Answered while the node is frozen, which is what the test is about.
    const paused = await tenant.control('1.1.0', { status: 'paused' });
    process.kill(far.process.pid, 'SIGCONT');
    network.delay(0);
    await asking;
    expect(paused.status).toBe(200);
    await tenant.at(far).untilOffered('1.0.0');
  });

  it('that another node has made is found over 400 ms round trips, without Redis', async () => {
    const tenant = await createTenant(near, ['1.0.0']);
    // Without Redis, nothing but PostgreSQL tells the node what was offered.
    const far = await addFarNode({ REDIS_URL: '' });
    await tenant.at(far).untilOffered('1.0.0');
    network.delay(ROUND_TRIP_MS / 2);
    await tenant.publish('1.1.0');
    await tenant.untilOffered('1.1.0');
    await tenant.at(far).untilOffered('1.1.0');
    network.delay(0);
  });

  /** Locks the tenant's channels, as a change that takes long does; returns the function that ends it. */
  async function lockChannels(tenant: Tenant): Promise<() => Promise<void>> {
    const client = new pg.Client({ connectionString: cluster.databaseUrl });
    await client.connect();
    await client.query('BEGIN');
    await client.query('SELECT FROM channels WHERE app_id = $1 FOR UPDATE', [tenant.appId]);
    return () => client.end();
  }

  it('that cannot be recorded is 503 everywhere, never "nothing", and has a log line (§14.3)', async () => {
    const tenant = await createTenant(near);
    expect((await tenant.report([DEVICE])).status).toBe(200);
    await tenant.publish('1.0.0', { artifacts: [INSTALLER] });
    const unlock = await lockChannels(tenant);
    try {
      expectUnavailable(await tenant.check('0.9.0'));
      expectUnavailable(await send(near, 'GET', `/e/${tenant.app}/stable/latest-linux.yml`));
      expectUnavailable(await tenant.decisions([DEVICE]));
      // Nothing keeps the device from the release but the lock, and a dry run offers nothing.
      const dryRun = await tenant.decisions([DEVICE], { dryRun: true });
      expect(dryRun.body).toMatchObject({ updatesOffered: 1 });
      const path = `decision?app=${tenant.app}&deviceId=${DEVICE.deviceId}`;
      const explained = await admin(near, 'GET', path);
      expect(explained.body).toMatchObject({ offer: null, reason: 'first-offer-unavailable' });
      // A device that runs the release is up to date all the same.
      expect((await tenant.check('1.0.0')).status).toBe(204);
    } finally {
      await unlock();
    }
    await tenant.untilOffered('1.0.0');
    const told = logLines(near.output(), 'first offer could not be recorded');
    expect(told.filter(({ app }) => app === tenant.app)).toMatchObject([
      {
        ...{ channel: 'stable', version: '1.0.0' },
        err: { detail: expect.stringContaining('lock timeout') },
      },
    ]);
  });

  it.each([
    ['announced', () => undefined],
    [
      'in Redis',
      (node: ClusterNode) => node.redisProxy.dropWhen((chunk) => chunk.includes(ANNOUNCEMENT)),
    ],
  ])(
    'that another node has made counts while PostgreSQL is gone: %s (§14.10)',
    async (_how, prepare) => {
      const other = await cluster.addNode();
      const tenant = await createTenant(near, ['1.0.0'], ['1.1.0']);
      // A device that runs 1.1.0 makes the other node load the channel, and is offered nothing.
      expect((await tenant.at(other).check('1.1.0')).status).toBe(204);
      prepare(other);
      expect(await tenant.offered()).toBe('1.1.0');
      await cluster.postgres.kill();
      try {
        // The mark is on its way to Redis and to the other node when the first device has its answer.
        await eventually('both offer it', async () => {
          const versions = [await tenant.at(other).offered(), await tenant.offered()];
          return versions.every((version) => version === '1.1.0');
        });
      } finally {
        await cluster.postgres.restart();
        await other.dispose();
      }
    },
  );
});
