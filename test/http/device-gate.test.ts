// Tests which budget a request is counted against.

import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { expect, it } from 'vitest';
import { hashText } from '../../src/domain/decision/cohort.ts';
import { createMemoryEngine } from '../../src/engine/memory/memory-engine.ts';
import { DeviceGate } from '../../src/http/device/device-gate.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import { LimitDevices } from '../../src/operations/fleet/limit-devices.ts';

type Sent = { readonly address: string; readonly forwardedFor?: readonly string[] };

/** A new gate; each call is one request, and `use` spends a client's whole budget. */
function gateWith(trustedProxies: number) {
  const limit = new LimitDevices({
    engine: createMemoryEngine(),
    isShared: false,
    metrics: new Metrics(),
    now: () => 0,
    capacity: 64,
    busyCapacity: 8,
  });
  const gate = new DeviceGate(limit, trustedProxies);
  const ask = ({ address, forwardedFor = [] }: Sent, id?: string): number => {
    const res = { getRemoteAddressAsText: () => new TextEncoder().encode(address).buffer };
    const req = {
      forEach(tell: (name: string, value: string) => void) {
        for (const line of forwardedFor) tell('x-forwarded-for', line);
      },
    };
    const hash = id === undefined ? undefined : hashText(id);
    return gate.now(res as HttpResponse, req as unknown as HttpRequest, id, hash);
  };
  const use = (sent: Sent, id?: string): void => {
    for (let n = 0; n < 120; n++) expect(ask(sent, id)).toBe(0);
  };
  return { ask, use };
}

it('a device has one budget from every address', () => {
  const { ask, use } = gateWith(0);
  use({ address: '1.1.1.1' }, 'device');
  expect(ask({ address: '2.2.2.2' }, 'device')).toBe(60);
  expect(ask({ address: '1.1.1.1' }, 'other')).toBe(0);
});

it('without an id the address has the budget, and no device that calls itself by it can use it up', () => {
  const { ask, use } = gateWith(0);
  use({ address: '1.1.1.1' }, '1.1.1.1');
  use({ address: '1.1.1.1' });
  expect(ask({ address: '::ffff:1.1.1.1' })).toBe(60);
  expect(ask({ address: '1.1.1.2' })).toBe(0);
});

it('of several X-Forwarded-For lines the last is the one that the proxy has written', () => {
  const { ask, use } = gateWith(1);
  use({ address: '10.0.0.1', forwardedFor: ['6.6.6.6', '1.1.1.1'] });
  expect(ask({ address: '10.0.0.1', forwardedFor: ['7.7.7.7', '1.1.1.1'] })).toBe(60);
  expect(ask({ address: '10.0.0.1', forwardedFor: ['1.1.1.1', '8.8.8.8'] })).toBe(0);
});

it('without a proxy to believe, X-Forwarded-For changes nothing', () => {
  const { ask, use } = gateWith(0);
  use({ address: '1.1.1.1', forwardedFor: ['6.6.6.6'] });
  expect(ask({ address: '1.1.1.1', forwardedFor: ['7.7.7.7'] })).toBe(60);
});
