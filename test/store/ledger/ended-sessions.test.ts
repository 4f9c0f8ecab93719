// Tests what counts as unavailable where a server, or a pool in front of it, ends the session of a call: with
// codes of its own, which say nothing about the call.

import { type AddressInfo, createServer } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { Unavailable } from '../../../src/contract/store-fault.ts';
import { openPgDatabase } from '../../../src/store/ledger/database/pg-database.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** Returns a message of PostgreSQL's protocol. */
function message(type: string, body: Buffer): Buffer {
  const head = Buffer.from(`${type}0000`, 'latin1');
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const WELCOME = Buffer.concat([
  message('R', Buffer.alloc(4)), // signed in
  message('Z', Buffer.from('I')), // ready, in no transaction
]);

/** Starts a server that answers each statement with an error, and returns its address. */
async function startRefusing(severity: string, code: string): Promise<string> {
  const fields = [`S${severity}`, `V${severity}`, `C${code}`, 'Mno', ''];
  const refusal = message('E', Buffer.from(fields.map((field) => `${field}\0`).join('')));
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write(WELCOME);
      socket.on('data', () => {
        if (severity === 'FATAL') socket.end(refusal);
        else socket.write(Buffer.concat([refusal, message('Z', Buffer.from('I'))]));
      });
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  ends.push(() => new Promise((done) => server.close(done)));
  return `postgres://a:b@127.0.0.1:${(server.address() as AddressInfo).port}/x?sslmode=disable`;
}

async function errorOf(severity: string, code: string): Promise<unknown> {
  const url = await startRefusing(severity, code);
  const database = openPgDatabase({ url, onFault: () => undefined });
  try {
    return await database.query('SELECT 1').then(
      () => undefined,
      (error: unknown) => error,
    );
  } finally {
    await database.close();
  }
}

it.each(['XX000', 'ECHECKOUTTIMEOUT', '22021'])(
  'a session that ends with %s counts as unavailable: the call is not at fault',
  async (code) => {
    expect(await errorOf('FATAL', code)).toBeInstanceOf(Unavailable);
  },
);

it.each(['XX001', '22021'])('a statement that ends with %s is at fault', async (code) => {
  const error = await errorOf('ERROR', code);
  expect(error).not.toBeInstanceOf(Unavailable);
  expect(error).toMatchObject({ code });
});
