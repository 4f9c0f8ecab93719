// Tests the words for a port that cannot be listened on.

import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { findPortFault, portFault } from '../../../src/http/transport/port-fault.ts';
import { freePort } from '../../support/free-port.ts';

it.each([
  ['EACCES', 'this account has no right to it. Choose a port above 1023'],
  ['EADDRNOTAVAIL', 'is no address of this machine'],
  ['ENOTFOUND', 'is no address of this machine'],
  ['EADDRINUSE', 'another program has it. Choose another port'],
  ['EINVAL', 'which is in use or not of this machine'],
])('%s says %s', (code, words) => {
  const fault = portFault('10.0.0.1', 80, Object.assign(new Error(code), { code }));
  expect(fault).toMatch(/^cannot listen on 10\.0\.0\.1:80\b/);
  expect(fault).toContain(words);
});

it('a port is tried to find what is wrong with it, and is free again afterwards', async () => {
  const port = await freePort();
  const words = `cannot listen on 127.0.0.1:${port}, which is in use or not of this machine`;
  expect(await findPortFault('127.0.0.1', port)).toBe(words);
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  expect(await findPortFault('127.0.0.1', port)).toContain('another program has it');
  server.close();
});
