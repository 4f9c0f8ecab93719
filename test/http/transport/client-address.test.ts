// Tests which address limits a device without an id: addresses that a client writes itself are never
// believed.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clientAddress } from '../../../src/http/transport/client-address.ts';

const LIST = '6.6.6.6, 1.1.1.1 ,2.2.2.2,\t3.3.3.3';

describe('TRUST_PROXY', () => {
  it.each([
    // The socket, whatever the header says; the nth entry from the right.
    [0, '1.2.3.4', '10.0.0.1'],
    [1, LIST, '3.3.3.3'],
    [2, LIST, '2.2.2.2'],
    [3, LIST, '1.1.1.1'],
    // With fewer entries than proxies the leftmost, without any the socket.
    [5, '1.1.1.1, 2.2.2.2', '1.1.1.1'],
    [5, '', '10.0.0.1'],
    // An entry may carry a port.
    [1, '1.2.3.4:5678', '1.2.3.4'],
    [1, '[2001:db8::1]:443', '2001:db8:0:0::/64'],
    [1, '[2001:db8::1]', '2001:db8:0:0::/64'],
  ])('%i by %j: %s', (proxies, header, client) => {
    expect(clientAddress('10.0.0.1', header, proxies)).toBe(client);
  });

  it('what stands left of the trusted entries changes nothing', () => {
    const anyPrefix = fc.string({ unit: 'binary-ascii', maxLength: 60 });
    const proxies = ['9.9.9.9', '8.8.8.8', '2001:db8:1:2::5'];
    fc.assert(
      fc.property(anyPrefix, fc.integer({ min: 1, max: 3 }), (prefix, n) => {
        const trusted = proxies.slice(-n).join(', ');
        const forged = clientAddress('10.0.0.1', `${prefix}, ${trusted}`, n);
        expect(forged).toBe(clientAddress('10.0.0.1', trusted, n));
      }),
    );
  });

  it('an entry that is no address: the hop that a proxy vouches for before it', () => {
    const none = 'unknown 1.2.3 1.2.3.4.5 256.1.1.1 01.2.3.4567 _hidden ::: ::g'.split(' ');
    for (const bad of ['', ...none]) {
      expect(clientAddress('10.0.0.1', `1.1.1.1, ${bad}, 3.3.3.3`, 3)).toBe('3.3.3.3');
      expect(clientAddress('10.0.0.1', `1.1.1.1, ${bad}`, 2)).toBe('10.0.0.1');
    }
  });

  it('every address counts, in each of its forms', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
        const client = clientAddress('not an address', text, 1);
        expect(client).toMatch(text.includes(':') ? /::\/64$|^[\d.]+$/ : /^[\d.]+$/);
        expect(clientAddress(text, '', 0)).toBe(client);
      }),
    );
  });

  it('any header and any number of proxies give some address', () => {
    const header = fc.string({ unit: 'binary-ascii' });
    fc.assert(
      fc.property(header, fc.integer({ min: 0, max: 16 }), (text, n) => {
        expect(clientAddress('10.0.0.1', text, n)).toMatch(/^[\d.]+$|^[0-9a-f:]+::\/64$/);
      }),
    );
  });
});

// An IPv4 address mapped into IPv6 is the IPv4 address; all addresses of a /64 are one client.
it.each([
  ['::ffff:1.2.3.4', '1.2.3.4'],
  ['::FFFF:0102:0304', '1.2.3.4'],
  ['0:0:0:0:0:ffff:1.2.3.4', '1.2.3.4'],
  ['0000:0000:0000:0000:0000:ffff:0102:0304', '1.2.3.4'],
  ['2001:DB8::1', '2001:db8:0:0::/64'],
  ['2001:db8:0:0:ffff::', '2001:db8:0:0::/64'],
  ['2001:0db8:0000:0000:0001:2:3:4', '2001:db8:0:0::/64'],
  ['2001:db8::1.2.3.4', '2001:db8:0:0::/64'],
  ['2001:db8:0:1::1', '2001:db8:0:1::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
] as const)('one client has one name: %s is %s', (form, client) => {
  expect(clientAddress(form, '', 0)).toBe(client);
});
