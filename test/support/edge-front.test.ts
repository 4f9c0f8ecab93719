// Tests that the address in front of an edge outlives a caller, or a service, that goes away in an answer.

import { request } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { pass } from './edge-front.ts';
import { loopbackServer } from './loopback-server.ts';

it.each(['caller', 'service'])('breaks an answer off when its %s goes away', async (side) => {
  const unhandled = vi.fn();
  process.on('unhandledRejection', unhandled);
  onTestFinished(() => void process.off('unhandledRejection', unhandled));
  const passed = vi.fn();
  const service = await loopbackServer((_, answer) => answer.write('half of an'));
  const front = await loopbackServer((incoming, outgoing) => {
    // Once it has begun to read the answer.
    vi.spyOn(outgoing, 'writeHead').mockImplementation(() => {
      if (side === 'caller') caller.destroy();
      else void service.close();
      return outgoing;
    });
    pass(incoming, outgoing, `http://127.0.0.1:${service.port}`, passed);
  });
  onTestFinished(async () => void (await Promise.all([front.close(), service.close()])));

  const caller = request({ port: front.port }).on('error', () => undefined);
  await new Promise<void>((resolve) => caller.on('close', resolve).end());
  await vi.waitFor(() => expect(service.open()).toBe(0));
  await nextTurn();
  expect(unhandled).not.toHaveBeenCalled();
  expect(passed).not.toHaveBeenCalled();
});
