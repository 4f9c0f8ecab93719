// Tests how large a delivery may be: 25 MB; everything sent beyond that is refused without being held in
// memory.

import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnOneBackend } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { asset, deliver, enableWebhook, type Hook, releaseEvent } from '../support/github.ts';
import { metricsOf } from '../support/metrics.ts';
import type { ServingNode } from '../support/node.ts';
import { createTenant, publish, type Tenant } from '../support/tenant.ts';

const MIB = 1024 * 1024;
const LIMIT_BYTES = 25 * MIB;
/**
 * Maximum growth of a process while it discards 200 MB; holding them would exceed it. Beside them grow the
 * young objects of the engine, for which a serving process has three spaces of 32 MB.
 */
const GROWTH_BYTES_MAX = 120 * MIB;

describeOnOneBackend('webhook body limit', (backend) => {
  let node: ServingNode;
  let tenant: Tenant;
  let hook: Hook;
  beforeAll(async () => {
    node = await backend.start({ SECRET_KEY: 'a key of the test' });
    tenant = await createTenant(node);
    hook = await enableWebhook(node, tenant);
  });
  afterAll(() => node?.dispose());

  async function residentBytes(): Promise<number> {
    const text = await metricsOf(node);
    return Number(/^process_resident_memory_bytes (\S+)/m.exec(text)?.[1]);
  }

  /**
   * Sends all chunks of 1 MiB, also after an answer has come. Returns the status, the bytes that got out, and
   * the most memory that the service had meanwhile.
   */
  async function upload(path: string, chunks: number) {
    const socket = connect(Number(new URL(node.url).port), '127.0.0.1');
    let answer = '';
    socket.on('data', (data) => {
      answer += data.toString();
    });
    const head = [
      `POST ${path} HTTP/1.1`,
      'Host: localhost',
      'Transfer-Encoding: chunked',
      'X-GitHub-Event: release',
      `X-Hub-Signature-256: sha256=${'0'.repeat(64)}`,
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    const chunk = Buffer.alloc(MIB, ' ');
    let peak = 0;
    for (let sent = 0; sent < chunks; sent++) {
      if (sent % 10 === 0) peak = Math.max(peak, await residentBytes());
      socket.write(`${MIB.toString(16)}\r\n`);
      socket.write(chunk);
      if (!socket.write('\r\n')) await once(socket, 'drain');
    }
    socket.write('0\r\n\r\n');
    await eventually('an answer', () => answer.includes('\r\n\r\n'));
    const sentBytes = socket.bytesWritten;
    socket.destroy();
    return { status: Number(answer.slice(9, 12)), sentBytes, peak };
  }

  // This test is the first, while nothing else has made the process grow.
  it('200 MB in chunks are 413, or 404 for an unknown app, and are not held', async () => {
    await upload(hook.path, 30);
    const before = await residentBytes();
    const known = await upload(hook.path, 200);
    expect(known.status).toBe(413);
    expect(known.sentBytes).toBeGreaterThan(200 * MIB);
    expect(known.peak - before).toBeLessThan(GROWTH_BYTES_MAX);
    console.log(`200 MB in chunks: ${Math.round((known.peak - before) / MIB)} MB more at most`);
    const unknown = await upload('/wh/github/none', 200);
    expect(unknown.status).toBe(404);
    expect(unknown.peak - before).toBeLessThan(GROWTH_BYTES_MAX);
  }, 60_000);

  it('a delivery just below 25 MB is understood, as JSON and as a form', async () => {
    const assets = Array.from({ length: 1000 }, (_, index) =>
      asset(`notes-${index}-linux-amd64`, { note: 'x'.repeat(24_000) }),
    );
    const event = releaseEvent('v1.0.0', { assets });
    const bytes = Buffer.byteLength(JSON.stringify(event));
    expect(bytes).toBeGreaterThan(LIMIT_BYTES * 0.9);
    expect(bytes).toBeLessThan(LIMIT_BYTES);
    const first = await deliver(node, hook, event);
    expect([first.status, first.body?.outcome]).toEqual([200, 'created']);
    const again = await deliver(node, hook, event, { form: true });
    expect([again.status, again.body?.outcome]).toEqual([200, 'duplicate']);
  }, 60_000);

  it('one byte more is 413, as is a length that says so', async () => {
    const body = ' '.repeat(LIMIT_BYTES + 1);
    const digest = createHmac('sha256', hook.secret).update(body).digest('hex');
    const headers = { 'x-hub-signature-256': `sha256=${digest}` };
    const answer = await deliver(node, hook, body, { headers });
    expect([answer.status, answer.body]).toEqual([413, { error: 'Request body too large' }]);
  });

  it('a length above the limit is refused before the first byte of the body', async () => {
    const { port } = new URL(node.url);
    const socket = connect(Number(port), '127.0.0.1');
    const head = [
      `POST ${hook.path} HTTP/1.1`,
      'Host: localhost',
      `Content-Length: ${LIMIT_BYTES + 1}`,
      `X-Hub-Signature-256: sha256=${'0'.repeat(64)}`,
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    const text = await new Promise<string>((resolve, reject) => {
      socket.once('data', (data) => resolve(data.toString()));
      socket.once('error', reject);
      socket.setTimeout(5000, () => reject(new Error('no answer')));
    });
    socket.destroy();
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
  });

  it('large bodies that never end leave room for everybody else, and are refused beyond their share', async () => {
    const { port } = new URL(node.url);
    const answers: string[] = [];
    const head = [
      `POST ${hook.path} HTTP/1.1`,
      'Host: localhost',
      `Content-Length: ${LIMIT_BYTES}`,
      `X-Hub-Signature-256: sha256=${'0'.repeat(64)}`,
    ];
    const sockets = Array.from({ length: 8 }, () => {
      const socket = connect(Number(port), '127.0.0.1');
      socket.on('data', (data) => answers.push(data.toString().slice(0, 12)));
      socket.on('error', () => undefined);
      socket.write(`${head.join('\r\n')}\r\n\r\n`);
      socket.write(Buffer.alloc(20 * MIB, ' '));
      return socket;
    });
    try {
      await eventually('somebody is refused', () => answers.length > 0, 9000);
      expect(new Set(answers)).toEqual(new Set(['HTTP/1.1 503']));
      const notes = 'x'.repeat(200_000);
      expect((await publish(node, tenant, '7.0.0', { notes })).status).toBe(201);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  });

  it('small bodies that nobody signed fill their own share, and publishing goes on', async () => {
    const { port } = new URL(node.url);
    const answers: string[] = [];
    const head = [
      `POST ${hook.path} HTTP/1.1`,
      'Host: localhost',
      `Content-Length: ${MIB}`,
      `X-Hub-Signature-256: sha256=${'0'.repeat(64)}`,
    ];
    const sockets = Array.from({ length: 300 }, () => {
      const socket = connect(Number(port), '127.0.0.1');
      socket.on('data', (data) => answers.push(data.toString().slice(0, 12)));
      socket.on('error', () => undefined);
      socket.write(`${head.join('\r\n')}\r\n\r\n`);
      socket.write(Buffer.alloc(MIB - 1, ' '));
      return socket;
    });
    try {
      await eventually('somebody is refused', () => answers.length > 0, 20_000);
      for (let number = 0; number < 10; number++) {
        const notes = 'x'.repeat(200_000);
        expect((await publish(node, tenant, `8.${number}.0`, { notes })).status).toBe(201);
      }
      // 300 MiB were sent; what was refused is more than the share of management calls could explain.
      await eventually('most are refused', () => answers.length > 150, 20_000);
      expect(new Set(answers)).toEqual(new Set(['HTTP/1.1 503']));
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  });
});
