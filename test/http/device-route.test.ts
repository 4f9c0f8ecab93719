// Tests what a route of an updater does around a decision: it waits for a document that is not written
// yet, and an exception costs one request, not the process.

import { expect, it } from 'vitest';
import { fail } from '../../src/contract/failure.ts';
import { ADMITTED } from '../../src/domain/fleet/sliding-window-limiter.ts';
import type { DeviceQuestion } from '../../src/http/device/device-question.ts';
import { DeviceRoute } from '../../src/http/device/device-route.ts';
import { NO_STORE, replyHead } from '../../src/http/transport/reply.ts';
import { gate } from '../support/gate.ts';
import { silentTraffic } from '../support/http-engines.ts';
import { requestOf, responseOf } from './fake-exchange.ts';

const DECISION = { candidate: undefined };

/** Asks a route that decides at once; returns its statuses, which it may still add to. */
function ask(parts: Partial<DeviceQuestion<never>>): string[] {
  const question = {
    ...{ route: '/u', deviceHeader: 'x-device', deviceParameter: undefined, agent: '' },
    ...{ otherDeviceHeaders: [], parameters: [], isConditional: false, ready: undefined },
    parse: () => ({ scope: {} }),
    reply: () => ({ status: 204, head: replyHead(204, NO_STORE) }),
    ...parts,
  };
  const check = { now: () => DECISION, refused: () => fail('unknownApp'), later: () => undefined };
  const gate = { now: () => ADMITTED, network: new Int32Array(4) };
  const traffic = silentTraffic();
  const route = new DeviceRoute<never>(question as never, { check, gate, traffic } as never);
  const statuses: string[] = [];
  route.get(responseOf(statuses), requestOf('/u/acme/stable'));
  return statuses;
}

it('a decision waits for its document', async () => {
  const { opened, open } = gate();
  const waited: unknown[] = [];
  const ready = (decision: unknown) => {
    waited.push(decision);
    return opened;
  };
  const statuses = ask({ ready });
  await new Promise(setImmediate);
  expect([waited, statuses]).toEqual([[DECISION], []]);
  open();
  await new Promise(setImmediate);
  expect(statuses).toEqual(['204']);
});

it('an exception is 500 for its request', () => {
  const parse = () => {
    throw new Error('unforeseen');
  };
  expect(ask({ parse })).toEqual(['500']);
});
