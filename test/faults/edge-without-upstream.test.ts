// Tests what an edge does without its service, what it says of an upstream that it cannot use, and that it
// trusts a private authority (docs/operating/install.md).

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Diagnosis } from '../../src/contract/store-fault.ts';
import { makeEdgeToken, startEdge } from '../support/edge-node.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { findOpenssl } from '../support/nginx-front.ts';
import { type NodeSettings, type ServingNode, startNode } from '../support/node.ts';
import { removeFolder, temporaryFolder } from '../support/server-process.ts';
import { runSluice } from '../support/sluice-command.ts';
import { admin, check, createTenant, publish, send } from '../support/tenant.ts';

const openssl = findOpenssl();
const title = 'an edge';
const missing = openssl === undefined ? ' (skipped: no openssl on this machine)' : '';

describe.skipIf(openssl === undefined)(title + missing, () => {
  const folder = temporaryFolder('sluice-authority-');
  const certificate = join(folder, 'cert.pem');
  const endings: (() => unknown)[] = [];
  let service: ServingNode;
  let token: string;
  let adminUrl: string;
  let tlsPort: number;

  beforeAll(async () => {
    const admin = `127.0.0.1:${await freePort()}`;
    adminUrl = `http://${admin}`;
    service = await startNode({ SECRET_KEY: 'a key of the tests', ADMIN_LISTEN: admin });
    endings.push(() => service.dispose());
    token = (await makeEdgeToken({ url: adminUrl })).secret;
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    const files = ['-keyout', join(folder, 'cert.key'), '-out', certificate];
    const name = ['-subj', '/CN=edges', '-addext', 'subjectAltName=DNS:localhost'];
    const args = ['req', '-x509', ...key, ...files, '-days', '2', ...name];
    execFileSync(openssl ?? '', args, { stdio: 'pipe' });
    tlsPort = await startTls(Number(new URL(service.url).port));
  });
  afterAll(async () => {
    for (const end of endings.reverse()) await end();
    removeFolder(folder);
  });

  /** Starts what ends TLS in front of a port. */
  async function startTls(port: number): Promise<number> {
    const [cert, key] = [certificate, join(folder, 'cert.key')].map((file) => readFileSync(file));
    const server = createServer({ cert, key }, (client) => {
      const onward = connect(port, '127.0.0.1');
      client.on('error', () => onward.destroy()).pipe(onward);
      onward.on('error', () => client.destroy()).pipe(client);
      onward.on('close', () => client.destroy());
    });
    server.on('tlsClientError', () => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    endings.push(() => server.close());
    return (server.address() as { port: number }).port;
  }

  async function edgeOf(upstream: string, settings: NodeSettings = {}): Promise<ServingNode> {
    const edge = await startEdge(upstream, token, settings);
    endings.push(() => edge.dispose());
    return edge;
  }

  it.concurrent.each([
    ['that nobody listens for', async () => `http://127.0.0.1:${await freePort()}`, /ECONNREFUSED/],
    [
      'of two addresses without anybody',
      async () => `http://localhost:${await freePort()}`,
      /REFUS/,
    ],
    ['that has no TLS', async () => service.url.replace('http:', 'https:'), /EPROTO/],
    ['that has TLS', async () => `http://localhost:${tlsPort}`, /HPE_|ECONNRESET|socket hang up/],
    ['of another name', async () => `https://127.0.0.1:${tlsPort}`, /SELF_SIGNED|ALTNAME/],
    ['of an unknown authority', async () => `https://localhost:${tlsPort}`, /SELF_SIGNED/],
    ['of the console', async () => adminUrl, /404/],
  ])('says why it cannot follow an address %s', async (_, upstream, reason) => {
    const url = await upstream();
    const edge = await edgeOf(url);
    const lost = () =>
      edge
        .output()
        .split('\n')
        .find((line) => line.includes('"store lost"'));
    await eventually('it is lost', () => lost() !== undefined);
    const line = JSON.parse(lost() ?? '') as { reason: string };
    const { status, body } = await send(edge, 'GET', '/readyz');
    expect([status, body?.error]).toEqual([
      503,
      'the upstream cannot be reached and nothing is known without it',
    ]);
    const [degraded] = (body?.degraded ?? []) as { store: string; message: string }[];
    expect(degraded).toMatchObject({ store: 'upstream', message: expect.stringMatching(reason) });
    expect(degraded?.message).not.toMatch(/127\.0\.0\.1|localhost/);
    const told = await runSluice(['doctor', '--json', '--upstream', url], {
      DATA_DIR: edge.dataDir,
      EDGE_TOKEN: token,
    });
    const { checks } = JSON.parse(told.stdout) as Diagnosis;
    const found = checks.find(({ name }) => name === 'upstream');
    // Of an answer that it does not trust the doctor says what to do as well.
    const isUnsigned = line.reason.endsWith('is not signed');
    const message = isUnsigned ? expect.stringContaining('is not signed: is it') : line.reason;
    expect(found).toMatchObject({ ok: false, message });
  });

  it('trusts a private authority that NODE_EXTRA_CA_CERTS names, as the doctor does', async () => {
    const url = `https://localhost:${tlsPort}`;
    const trusting = { NODE_EXTRA_CA_CERTS: certificate };
    const edge = await edgeOf(url, trusting);
    await eventually(
      'it is ready',
      async () => (await send(edge, 'GET', '/readyz')).status === 200,
    );
    const env = { DATA_DIR: edge.dataDir, EDGE_TOKEN: token, ...trusting };
    const { code, stdout } = await runSluice(['doctor', '--upstream', url], env);
    expect([code, stdout]).toEqual([0, expect.stringContaining('ok   upstream: answers')]);
  });
});

it('an edge without its service serves what it has loaded, after kill -9 from its disk, and 503 else (§29.6)', async () => {
  const service = await startNode({ SECRET_KEY: 'a key of the tests' });
  const [asked, other] = [await createTenant(service), await createTenant(service)];
  for (const tenant of [asked, other]) await publish(service, tenant, '1.0.0');
  const { secret } = await makeEdgeToken(service);
  let edge = await startEdge(service.url, secret);
  try {
    const version = async () => (await check(edge, asked, '0.9.0')).body?.version;
    await eventually('it serves', async () => (await version()) === '1.0.0');
    await eventually('its disk has the index and the channel', () => {
      const names = readdirSync(join(edge.dataDir, 'edge'), { recursive: true, encoding: 'utf8' });
      return names.includes('followed') && names.some((name) => name.endsWith('.json'));
    });
    await service.kill();
    for (const isRestarted of [false, true]) {
      if (isRestarted) {
        await edge.kill();
        edge = await edge.restart();
      }
      expect((await check(edge, other, '0.9.0')).status).toBe(503);
      expect(await version()).toBe('1.0.0');
    }
  } finally {
    await edge.dispose();
    await service.dispose();
  }
});

it('an edge whose token is refused says that, and since when, and stays ready (§29.2)', async () => {
  const service = await startNode({ SECRET_KEY: 'a key of the tests' });
  const tenant = await createTenant(service);
  await publish(service, tenant, '1.0.0');
  const token = await makeEdgeToken(service);
  const edge = await startEdge(service.url, token.secret);
  try {
    const version = async () => (await check(edge, tenant, '0.9.0')).body?.version;
    await eventually('it serves', async () => (await version()) === '1.0.0');
    const before = Date.now();
    await admin(service, 'POST', 'edge-tokens/revoke', { id: token.id });
    const said = async () => (await send(edge, 'GET', '/readyz')).body?.degraded;
    await eventually('it is degraded', async () => (await said()) !== undefined);
    const { status } = await send(edge, 'GET', '/readyz');
    const [{ message = '' } = {}] = (await said()) as { message?: string }[];
    const words = /cannot be followed, .* last: it refuses the token of this edge since (\S+)$/;
    const since = Date.parse(words.exec(message)?.[1] ?? message);
    expect([status, since >= before, since <= Date.now()]).toEqual([200, true, true]);
    const lines = edge.output().split('\n');
    const told = lines.filter((line) =>
      line.includes('the upstream refuses the token of this edge'),
    );
    expect(told).toHaveLength(1);
    expect(lines.find((line) => line.includes('"store lost"'))).toContain('refuses the token');
    expect(await version()).toBe('1.0.0');
  } finally {
    await edge.dispose();
    await service.dispose();
  }
});
