// Tests the networks of clients: what they are called, and that two words hold them.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isPrivateNetwork,
  NETWORK_WORDS,
  readNetwork,
  wideNetworkOf,
  writeIpv4,
  writeNetwork,
} from '../../../src/domain/fleet/network-words.ts';
import { clientAddress } from '../../../src/http/transport/client-address.ts';
import { rowsOf } from '../../support/rows-of.ts';

function roundTrip(text: string): string | undefined {
  const words = new Int32Array(NETWORK_WORDS);
  writeNetwork(text, words);
  return readNetwork(words, 0);
}

describe('the network of a client', () => {
  it('an IPv4 address is its own network', () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        fc.pre(!['0.0.0.0', '0.0.0.1'].includes(address));
        expect(roundTrip(clientAddress(address, '', 0))).toBe(address);
      }),
    );
  });

  it('the bytes of an IPv4 address say the same as its text', () => {
    const [ofBytes, ofText] = [new Int32Array(NETWORK_WORDS), new Int32Array(NETWORK_WORDS)];
    const read = (text: string) => writeIpv4(new TextEncoder().encode(text), ofBytes);
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        writeNetwork(address, ofText);
        expect(read(address)).toBe(true);
        expect(ofBytes).toEqual(ofText);
      }),
    );
    const others = ['', '1.2.3', '1.2.3.', '.1.2.3', '1..2.3', '1.2.3.4.5', '1.2.3.256', '::1'];
    for (const text of [...others, '::ffff:1.2.3.4', '1.2.3.4 ']) expect(read(text)).toBe(false);
  });

  it('of an IPv6 address it is the /64', () => {
    const any = fc.array(fc.integer({ min: 1, max: 0xffff }), { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(any, (groups) => {
        const hex = groups.map((group) => group.toString(16));
        const network = `${hex.slice(0, 4).join(':')}::/64`;
        expect(roundTrip(clientAddress(hex.join(':'), '', 0))).toBe(network);
        expect(wideNetworkOf(network)).toBe(`${hex.slice(0, 3).join(':')}::/48`);
      }),
    );
  });

  it.each([
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8:0:ffff::1', '2001:db8:0:ffff::/64'],
    ['::1', '::/64'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['255.255.255.255', '255.255.255.255'],
    ['', undefined],
    ['unix:', undefined],
  ])('of %j it is %j', (address, network) => {
    expect(roundTrip(clientAddress(address, '', 0))).toBe(network);
  });

  it.each(
    rowsOf(`
    true: 10.0.0.1 | 127.0.0.1 | 172.16.0.1 | 172.31.255.255 | 192.168.1.1 | 169.254.1.1
    true: 100.64.0.1 | 100.127.0.1 | ::/64 | fd00:1:2:3::/64 | fe80:0:0:0::/64
    false: 172.15.0.1 | 172.32.0.1 | 192.169.1.1 | 100.63.0.1 | 100.128.0.1 | 110.0.0.1
    false: 203.0.113.1 | 2001:db8:0:1::/64 | fec0:0:0:0::/64
    `),
  )('%s is private: %s', (network, isPrivate) => {
    expect(String(isPrivateNetwork(network))).toBe(isPrivate);
  });

  it('an IPv4 address has no wide network', () => {
    expect(wideNetworkOf('192.0.2.1')).toBeUndefined();
  });
});
