// Tests that clients which ask and do not read cost a node neither memory nor time, whatever they ask. One
// such client used to take a gigabyte, and to keep all others waiting for seconds.

import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { suiteNode } from '../support/backend.ts';
import { engineOfRun } from '../support/base-environment.ts';
import { eventually } from '../support/eventually.ts';
import { longestTurn, WATCHED_ARGUMENTS } from '../support/longest-turn.ts';
import { startNode } from '../support/node.ts';
import { createTenant, type Tenant } from '../support/tenant.ts';

const KIB = 1024;
const CONNECTIONS = 10;
const REQUESTS = 4000;
/** Growth of the node that every connection may cost. The tables of devices and the heap grow as well. */
const MIB_EACH_MAX = 10;
/** Time for which the serving thread may answer nobody else (docs/operating/limits.md). */
const STILL_MS_MAX = (await engineOfRun()).name === 'uws' ? 50 : 100;
/** Attempts, of which the best counts: a collection of garbage may fall into any of them. */
const ATTEMPTS_MAX = 5;

const node = suiteNode(() => startNode({}, WATCHED_ARGUMENTS));
let asked = 0;

async function tenantWithNotes(notesKiB: number): Promise<Tenant> {
  const tenant = await createTenant(node, ['1.1.0', { notes: 'x'.repeat(notesKiB * KIB) }]);
  await eventually('the release is offered', async () => {
    return (await tenant.check('1.0.0')).status === 200;
  });
  return tenant;
}

/** Checks of a version as text, each of a device of its own. */
function checks(tenant: Tenant, version: string, count: number): string {
  return Array.from({ length: count }, () => {
    asked += 1;
    const path = `/u/${tenant.app}/stable/linux/x86_64/${version}`;
    return `GET ${path} HTTP/1.1\r\nHost: sluice\r\nX-Service-Device: d${asked}\r\n\r\n`;
  }).join('');
}

/** Opens a connection that reads nothing. */
async function openUnread(): Promise<Socket> {
  const socket = connect(Number(new URL(node.url).port), '127.0.0.1');
  socket.pause();
  socket.on('error', () => undefined);
  await eventually('a connection', () => socket.readyState === 'open');
  return socket;
}

/** Memory of the node in MiB. */
function memory(): number {
  const status = readFileSync(`/proc/${node.process.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / KIB;
}

it.each([
  ['offers with notes of 250 KiB', 250, '1.0.0'],
  ['offers with notes of 1 KiB', 1, '1.0.0'],
  ['answers without a body', 1, '1.1.0'],
])('thousands of unread %s at once', async (what, notesKiB, version) => {
  const tenant = await tenantWithNotes(notesKiB);
  const before = memory();
  const delays: number[] = [];
  while (delays.length < ATTEMPTS_MAX && !delays.some((delay) => delay < STILL_MS_MAX)) {
    const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, openUnread));
    const texts = sockets.map(() => checks(tenant, version, REQUESTS));
    await longestTurn(node);
    for (const [index, socket] of sockets.entries()) socket.write(texts[index] as string);
    await eventually('all is sent', () => sockets.every((each) => each.writableLength === 0));
    expect((await tenant.check(version)).status).toBe(version === '1.0.0' ? 200 : 204);
    delays.push(await longestTurn(node));
    expect(memory() - before).toBeLessThan(CONNECTIONS * MIB_EACH_MAX);
    for (const socket of sockets) socket.destroy();
  }
  const grown = memory() - before;
  console.log(`${what}: ${Math.min(...delays)} ms without others, ${grown.toFixed(0)} MiB more`);
  expect(Math.min(...delays)).toBeLessThan(STILL_MS_MAX);
});
