// Tests which budget a request is counted against, and which network a device asks from.

import { expect, it } from 'vitest';
import { hashText } from '../../src/domain/decision/cohort.ts';
import { readNetwork } from '../../src/domain/fleet/network-words.ts';
import { DeviceLimit } from '../../src/fleet/device-limit.ts';
import { DeviceGate } from '../../src/http/device/device-gate.ts';
import type { HttpRequest, HttpResponse } from '../../src/http/transport/http-app.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import { createMemoryEngine } from '../../src/store/memory/memory-engine.ts';

type Sent = { readonly address: string; readonly forwardedFor?: readonly string[] };

/** A new gate; each call is one request, and `use` spends a client's whole budget. */
function gateWith(trustedProxies: number) {
  const clock = { nowMs: 0 };
  const limit = new DeviceLimit({
    engine: createMemoryEngine(),
    isShared: false,
    metrics: new Metrics(),
    now: () => clock.nowMs,
    capacity: 64,
    busyCapacity: 8,
  });
  const gate = new DeviceGate(limit, trustedProxies, true);
  /** Number of times that the address of a client was read. */
  let reads = 0;
  const ask = (asked: Sent, id?: string): number => {
    const { res, req } = sent(asked, () => {
      reads += 1;
    });
    return gate.now(res, req, id, id === undefined ? undefined : hashText(id));
  };
  const use = (sent: Sent, id?: string): void => {
    for (let n = 0; n < 120; n++) expect(ask(sent, id)).toBe(0);
  };
  const network = () => readNetwork(gate.network, 0);
  const poll = async (id: string) => gate.limitActions(id, false);
  return { gate, ask, use, poll, network, clock, reads: () => reads };
}

/** Request from an address; `note` is called when that is read. */
function sent({ address, forwardedFor = [] }: Sent, note = () => {}) {
  const res = {
    getRemoteAddressAsText() {
      note();
      return new TextEncoder().encode(address).buffer;
    },
  };
  const req = {
    forEach(tell: (name: string, value: string) => void) {
      for (const line of forwardedFor) tell('x-forwarded-for', line);
    },
  };
  return { res: res as HttpResponse, req: req as unknown as HttpRequest };
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
  const { ask, use, network } = gateWith(1);
  use({ address: '10.0.0.1', forwardedFor: ['6.6.6.6', '1.1.1.1'] });
  expect(ask({ address: '10.0.0.1', forwardedFor: ['7.7.7.7', '1.1.1.1'] })).toBe(60);
  expect(ask({ address: '10.0.0.1', forwardedFor: ['1.1.1.1', '8.8.8.8'] })).toBe(0);
  ask({ address: '10.0.0.1', forwardedFor: ['203.0.113.1'] }, 'a');
  expect(network()).toBe('203.0.113.1');
  // Without a proxy to believe, the header changes nothing.
  const alone = gateWith(0);
  alone.use({ address: '1.1.1.1', forwardedFor: ['6.6.6.6'] });
  expect(alone.ask({ address: '1.1.1.1', forwardedFor: ['7.7.7.7'] })).toBe(60);
});

it('the network of a device is read once for its next checks', () => {
  const { ask, network, reads } = gateWith(0);
  ask({ address: '2001:db8::1' }, 'a');
  expect(network()).toBe('2001:db8:0:0::/64');
  ask({ address: '203.0.113.1' }, 'b');
  expect(network()).toBe('203.0.113.1');
  for (let time = 0; time < 50; time++) ask({ address: '2001:db8::1' }, 'a');
  expect([network(), reads()]).toEqual(['2001:db8:0:0::/64', 2]);
});

it('a device that was silent for ten minutes may have moved', () => {
  const { ask, network, clock } = gateWith(0);
  ask({ address: '203.0.113.1' }, 'a');
  clock.nowMs = 599_999;
  ask({ address: '198.51.100.1' }, 'a');
  expect(network()).toBe('203.0.113.1');
  clock.nowMs += 600_000;
  ask({ address: '198.51.100.1' }, 'a');
  expect(network()).toBe('198.51.100.1');
});

it('a flood of devices makes networks forgotten, and confuses none', () => {
  const { ask, network } = gateWith(0);
  const addressOf = (device: number) => `203.0.${device >> 8}.${device & 255}`;
  for (let turn = 0; turn < 3; turn++) {
    for (let device = 1; device < 1000; device++) {
      ask({ address: addressOf(device) }, `device ${device}`);
      expect(network()).toBe(addressOf(device));
    }
  }
});

it('the network of a poll is read anew, since devices that poll often may move', async () => {
  const { gate, poll } = gateWith(1);
  const networkOf = (asked: Sent) => {
    const { res, req } = sent(asked);
    return readNetwork(gate.networkOf(res, req), 0);
  };
  for (const client of ['203.0.113.1', '198.51.100.1', '2001:db8::1']) {
    expect(await poll('a')).toBeUndefined();
    const proxied = { address: '10.0.0.1', forwardedFor: ['6.6.6.6', client] };
    expect(networkOf(proxied)).toBe(client.replace('::1', ':0:0::/64'));
  }
});

it('polls have a budget beside the checks, and reports five times as much', async () => {
  const { gate, use, ask } = gateWith(0);
  use({ address: '1.1.1.1' }, 'a');
  const admitted = async (isReport: boolean, asks: number) => {
    const answers = [];
    for (let n = 0; n < asks; n++) answers.push(await gate.limitActions('a', isReport));
    return answers.filter((each) => each === undefined).length;
  };
  expect([await admitted(false, 130), await admitted(true, 610)]).toEqual([120, 600]);
  expect(await gate.limitActions('a', false)).toMatchObject({ failure: 'rateLimited' });
  expect(ask({ address: '1.1.1.1' }, 'a')).toBe(60);
});
