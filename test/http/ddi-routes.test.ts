// Tests what the route of devices that speak DDI makes of faults (docs/contract.md 34.36): the rest of it is
// tested over HTTP, in test/service/ddi.test.ts.

import { describe, expect, it } from 'vitest';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { ddiRoutes } from '../../src/http/device/ddi-route.ts';
import type { Exchange } from '../../src/http/transport/exchange.ts';
import { RequestNotes } from '../../src/http/transport/request-observation.ts';

type Dependencies = Parameters<typeof ddiRoutes>[0];

/** Returns the answer to a closing of which `feedback` is what becomes of it, and what was logged. */
async function close(feedback: () => Promise<void>) {
  const logged: string[] = [];
  const snapshot = { ddi: {}, ddiAuth: 'open', appId: 'app_1', appRef: 'gateway' };
  const dependencies = {
    catalogs: { find: async () => ({ catalog: { snapshot } }) },
    credentials: {},
    gate: { limitActions: async () => undefined },
    polls: {},
    reports: { feedback },
    publicUrl: undefined,
    trustProxy: 0,
    log: { error: (_: object, message: string) => logged.push(message) },
  } as unknown as Dependencies;
  const exchange: Exchange = {
    method: 'POST',
    path: '/ddi/gateway/stable/controller/v1/board-1/deploymentBase/11/feedback',
    queryText: '',
    headers: new Map(),
    remoteAddress: '127.0.0.1',
    params: new Map(),
    body: Promise.resolve(Buffer.from('{}')),
    notes: new RequestNotes(),
  };
  const route = ddiRoutes(dependencies).find(({ method }) => method === 'POST');
  const reply = await route?.handler(exchange);
  return { status: reply?.status, headers: new Map(reply?.headers), body: reply?.body, logged };
}

describe('a closing', () => {
  it('is 200 once it is kept', async () => {
    expect(await close(async () => {})).toMatchObject({ status: 200, body: '', logged: [] });
  });

  it.each([
    ['no store keeps', new Unavailable('engine', 'it is away'), []],
    ['a fault meets', new TypeError('x'), ['a report of a device could not be kept']],
  ])('that %s is to be repeated', async (_, fault, logged) => {
    const answer = await close(() => Promise.reject(fault));
    expect(answer).toMatchObject({ status: 429, logged });
    expect(answer.headers.get('Retry-After')).toBe('1');
    expect(answer.headers.get('Cache-Control')).toBe('no-store');
    expect(JSON.parse(String(answer.body))).toEqual({
      error: 'Temporarily unavailable, try again shortly',
    });
  });
});
