// Tests the directory of an edge (docs/contract.md 29.3 and 29.5): two edges cannot share one, and what
// another service has left there is neither served nor handed over in silence.

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeEdgeToken, startEdge } from '../support/edge-node.ts';
import { eventually } from '../support/eventually.ts';
import { type ServingNode, startNode } from '../support/node.ts';
import { removeFolder, startProcess, temporaryFolder } from '../support/server-process.ts';
import { SLUICE_COMMAND } from '../support/sluice-command.ts';
import { startProxy } from '../support/tcp-proxy.ts';
import { check, createTenant, devicesOf, publish, type Tenant } from '../support/tenant.ts';

const SETTINGS = { SECRET_KEY: 'a key of the tests' };
const OTHER = { SECRET_KEY: 'another key of the tests' };
/** Time that a start waits for an edge that may be about to end, and some more. */
const REFUSED_MS_MAX = 20_000;

describe('the directory of an edge', () => {
  let first: ServingNode;
  let second: ServingNode;
  let tenant: Tenant;
  beforeAll(async () => {
    [first, second] = await Promise.all([startNode(SETTINGS), startNode(OTHER)]);
    tenant = await createTenant(first);
    await publish(first, tenant, '1.0.0');
    // The other service has an app and a channel of the same names.
    const namesake = await createTenant(second, tenant.app);
    await publish(second, namesake, '9.0.0', { status: 'paused' });
  });
  afterAll(async () => {
    await Promise.all([first?.dispose(), second?.dispose()]);
  });

  const asks = (edge: ServingNode, device: string = randomUUID()) =>
    check(edge, tenant, '0.9.0', { device });

  async function serves(edge: ServingNode): Promise<void> {
    await eventually('the edge offers the release', async () => {
      return (await asks(edge)).body?.version === '1.0.0';
    });
  }

  it.concurrent('is refused to a second edge, in one line that names the first', async () => {
    const { secret } = await makeEdgeToken(first);
    const edge = await startEdge(first.url, secret);
    try {
      const env = { ...process.env, EDGE_TOKEN: secret, DATA_DIR: edge.dataDir, PORT: '0' };
      const args = [SLUICE_COMMAND, 'edge', '--upstream', first.url];
      const other = await startProcess(process.execPath, args, { env });
      await eventually(
        'the second edge has ended',
        () => /^sluice: .*is in use by process.*\n/m.test(other.output()),
        REFUSED_MS_MAX,
      );
      const [line = ''] = other.output().match(/^sluice: .*$/m) ?? [];
      expect(line).toContain(`process ${edge.process.pid}`);
      expect(line).toContain('DATA_DIR');
      await serves(edge);
      await edge.kill();
      const again = await edge.restart();
      await serves(again);
      await again.stop();
    } finally {
      await edge.dispose();
    }
  });

  it.concurrent('has nothing to serve for an edge of another service, whatever is away', async () => {
    const dataDir = temporaryFolder('sluice-edge-');
    const way = await startProxy(Number(new URL(first.url).port));
    try {
      const mine = await makeEdgeToken(first);
      const before = await startEdge(`http://127.0.0.1:${way.port}`, mine.secret, {
        DATA_DIR: dataDir,
      });
      await serves(before);
      way.blackhole();
      const left = randomUUID();
      expect((await asks(before, left)).status).toBe(200);
      await before.stop();

      const theirs = await makeEdgeToken(second);
      const to = await startProxy(Number(new URL(second.url).port));
      to.blackhole();
      const edge = await startEdge(`http://127.0.0.1:${to.port}`, theirs.secret, {
        DATA_DIR: dataDir,
      });
      expect((await asks(edge)).status).toBe(503);
      to.heal();
      await eventually('the other service has been asked', async () => {
        return (await asks(edge)).status === 204;
      });
      await eventually('what was dropped is said', () =>
        edge.output().includes('check-ins of apps that the upstream does not have were dropped'),
      );
      expect((await devicesOf(second, tenant)).map(({ deviceId }) => deviceId)).not.toContain(left);
      await edge.stop();
      await to.close();
    } finally {
      await way.close();
      removeFolder(dataDir);
    }
  });
});
