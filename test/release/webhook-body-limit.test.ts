// Tests how large a delivery may be: 25 MB; everything sent beyond that is refused without being held in
// memory.

import { once } from 'node:events';
import { connect } from 'node:net';
import { beforeAll, expect, it } from 'vitest';
import { describeOnBackends, suiteNode } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { asset, deliver, enableWebhook, type Hook, releaseEvent } from '../support/github.ts';
import { figureOf } from '../support/metrics.ts';
import { beginDialogue, requestHead } from '../support/raw-exchange.ts';
import { suiteTenant } from '../support/service-suite.ts';

const MIB = 1024 * 1024;
const LIMIT_BYTES = 25 * MIB;
/**
 * Maximum growth of a process while it discards 200 MB; holding them would exceed it. Beside them grow the
 * young objects of the engine, for which a serving process has three spaces of 32 MB.
 */
const GROWTH_BYTES_MAX = 160 * MIB;
const UNSIGNED = `X-Hub-Signature-256: sha256=${'0'.repeat(64)}`;
const PATIENCE_MS = 60_000;

describeOnBackends('webhook body limit', (backend) => {
  const node = suiteNode(() => backend.start({ SECRET_KEY: 'a key of the test' }));
  const tenant = suiteTenant(node);
  let hook: Hook;
  beforeAll(async () => {
    hook = await enableWebhook(node, tenant);
  });

  const residentBytes = () => figureOf(node, 'process_resident_memory_bytes');
  const headOf = (bytes: number) =>
    requestHead(`POST ${hook.path}`, `Content-Length: ${bytes}`, UNSIGNED);

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
    const lines = ['Transfer-Encoding: chunked', 'X-GitHub-Event: release', UNSIGNED];
    socket.write(requestHead(`POST ${path}`, ...lines));
    const chunk = Buffer.alloc(MIB, ' ');
    let peak = 0;
    for (let sent = 0; sent < chunks; sent++) {
      if (sent % 10 === 0) peak = Math.max(peak, await residentBytes());
      socket.write(`${MIB.toString(16)}\r\n`);
      socket.write(chunk);
      if (!socket.write('\r\n')) await once(socket, 'drain');
    }
    socket.write('0\r\n\r\n');
    await eventually('an answer', () => answer.includes('\r\n\r\n'), PATIENCE_MS);
    const sentBytes = socket.bytesWritten;
    socket.destroy();
    return { status: Number(answer.slice(9, 12)), sentBytes, peak };
  }

  /**
   * Sends bodies that lack their last byte, until so many are refused for want of room; what is not refused
   * may be told that it is slow. Publishing must go on meanwhile.
   */
  async function flood(count: number, bytes: number, sent: number, refusals: number) {
    const parts = [headOf(bytes), Buffer.alloc(sent, ' ')];
    const clients = Array.from({ length: count }, () => beginDialogue(node, parts));
    const answers = () => clients.flatMap(({ statuses }) => statuses);
    const refused = () => answers().filter((status) => status === 503).length;
    try {
      await eventually('somebody is refused', () => refused() > 0, PATIENCE_MS);
      for (let number = 0; number < 5; number++) {
        const version = `${count}.${number}.0`;
        const { status } = await tenant.publish(version, { notes: 'x'.repeat(200_000) });
        expect(status).toBe(201);
      }
      await eventually('most are refused', () => refused() >= refusals, PATIENCE_MS);
      expect(answers().filter((status) => status !== 503 && status !== 408)).toEqual([]);
    } finally {
      for (const { socket } of clients) socket.destroy();
    }
  }

  // This test is the first, while nothing else has made the process grow.
  it('200 MB in chunks are 413, or 404 for an unknown app, and are not held', async () => {
    await upload(hook.path, 30);
    const before = await residentBytes();
    for (const [path, status] of [
      [hook.path, 413],
      ['/wh/github/unknown', 404],
    ] as const) {
      const known = await upload(path, 200);
      expect(known.status).toBe(status);
      expect(known.sentBytes).toBeGreaterThan(200 * MIB);
      expect(known.peak - before).toBeLessThan(GROWTH_BYTES_MAX);
    }
  });

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
  });

  it('large bodies that never end leave room for everybody else, and are refused beyond their share', async () => {
    await flood(8, LIMIT_BYTES, 20 * MIB, 1);
  });

  it('small bodies that nobody signed fill their own share, and publishing goes on', async () => {
    // 300 MiB were sent; what was refused is more than the share of management calls could explain.
    await flood(300, MIB, MIB - 1, 151);
  });
});
