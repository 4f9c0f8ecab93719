// Tests which address limits a device without an id: addresses that a client writes itself are never
// believed.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clientAddress } from '../../../src/http/transport/client-address.ts';

describe('TRUST_PROXY', () => {
  it('0: the socket, whatever the header says', () => {
    expect(clientAddress('10.0.0.1', '1.2.3.4', 0)).toBe('10.0.0.1');
  });

  it('n: the nth entry from the right', () => {
    const header = '6.6.6.6, 1.1.1.1 ,2.2.2.2,\t3.3.3.3';
    expect([1, 2, 3].map((n) => clientAddress('10.0.0.1', header, n))).toEqual([
      '3.3.3.3',
      '2.2.2.2',
      '1.1.1.1',
    ]);
  });

  it('with fewer entries than proxies it is the leftmost, without any the socket', () => {
    expect(clientAddress('10.0.0.1', '1.1.1.1, 2.2.2.2', 5)).toBe('1.1.1.1');
    expect(clientAddress('10.0.0.1', '', 5)).toBe('10.0.0.1');
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

  it('an entry may carry a port', () => {
    expect(clientAddress('10.0.0.1', '1.2.3.4:5678', 1)).toBe('1.2.3.4');
    expect(clientAddress('10.0.0.1', '[2001:db8::1]:443', 1)).toBe('2001:db8:0:0::/64');
    expect(clientAddress('10.0.0.1', '[2001:db8::1]', 1)).toBe('2001:db8:0:0::/64');
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
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary-ascii' }),
        fc.integer({ min: 0, max: 16 }),
        (text, n) => {
          expect(clientAddress('10.0.0.1', text, n)).toMatch(/^[\d.]+$|^[0-9a-f:]+::\/64$/);
        },
      ),
    );
  });
});

describe('one client has one name', () => {
  it('an IPv4 address mapped into IPv6 is the IPv4 address', () => {
    const forms = [
      '::ffff:1.2.3.4',
      '::FFFF:0102:0304',
      '0:0:0:0:0:ffff:1.2.3.4',
      '0000:0000:0000:0000:0000:ffff:0102:0304',
    ];
    for (const form of forms) expect(clientAddress(form, '', 0)).toBe('1.2.3.4');
  });

  it('all addresses of a /64 are one client, in every way to write them; the next /64 is another', () => {
    const same = [
      '2001:DB8::1',
      '2001:db8:0:0:ffff::',
      '2001:0db8:0000:0000:0001:2:3:4',
      '2001:db8::1.2.3.4',
    ];
    for (const form of same) expect(clientAddress(form, '', 0)).toBe('2001:db8:0:0::/64');
    expect(clientAddress('2001:db8:0:1::1', '', 0)).toBe('2001:db8:0:1::/64');
    expect(clientAddress('::1', '', 0)).toBe('0:0:0:0::/64');
    expect(clientAddress('fe80::1%eth0', '', 0)).toBe('fe80:0:0:0::/64');
  });
});
