// Tests what the routes of devices that speak DDI make of faults (docs/contract.md 34.36): the rest of it is
// tested over HTTP, in test/service/ddi.test.ts.

import { describe, expect, it } from 'vitest';
import { fail, failUntil } from '../../src/contract/failure.ts';
import { Unavailable } from '../../src/contract/store-fault.ts';
import {
  DdiAdmission,
  type DdiAdmissionDependencies,
} from '../../src/http/device/ddi-admission.ts';
import { type DdiReportDependencies, ddiRoutes } from '../../src/http/device/ddi-routes.ts';
import type { Exchange } from '../../src/http/transport/exchange.ts';
import { RequestNotes } from '../../src/http/transport/request-observation.ts';

const snapshot = { ddi: {}, ddiAuth: 'open', appId: 'app_1', appRef: 'gateway' };
const SERVED = { peek: () => ({ catalog: { snapshot } }) };

/** Returns the answer to a closing of which `feedback` is what becomes of it, and what was logged. */
async function close(feedback: () => Promise<void>, catalogs: object = SERVED) {
  const logged: string[] = [];
  const admission = new DdiAdmission({
    catalogs,
    gate: { limitActions: () => undefined },
  } as unknown as DdiAdmissionDependencies);
  const dependencies = {
    ...{ admission, reports: { feedback }, trustProxy: 0 },
    log: { error: (_: object, message: string) => logged.push(message) },
  } as unknown as DdiReportDependencies;
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
  const route = ddiRoutes('/ddi/*', dependencies).find(({ method }) => method === 'POST');
  const reply = await route?.handler(exchange);
  return { status: reply?.status, headers: new Map(reply?.headers), body: reply?.body, logged };
}

/** Catalogs without this channel, of which `find` is what becomes. */
function absent(find: () => Promise<unknown>) {
  return { peek: () => undefined, find };
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

  it.each([
    ['is loaded first', async () => SERVED.peek(), 200],
    ['is not known', async () => fail('unknownChannel'), 404],
    ['cannot be loaded', async () => failUntil('unavailable', 1000), 429],
    ['no store has', () => Promise.reject(new Unavailable('ledger', 'it is away')), 429],
  ])('whose channel %s is answered all the same', async (_, find, status) => {
    expect(await close(async () => {}, absent(find))).toMatchObject({ status, logged: [] });
  });
});
