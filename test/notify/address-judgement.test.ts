// Tests which addresses notifications may be sent to: by the registries of IANA, and by what the operator
// allows.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AddressJudge } from '../../src/notify/address-judgement.ts';

const OWN = ['8.8.4.4', '2a00:1450::7'];
const judge = new AddressJudge([], () => OWN);
const allowing = (...networks: string[]) => new AddressJudge(networks, () => OWN);

const PUBLIC = [
  ...['1.1.1.1', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255'],
  ...['128.0.0.0', '169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0', '192.0.1.0'],
  ...[
    '192.0.3.0',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
  ],
  ...['2606:4700::1111', '2001:200::1', '2a00::1', '2003::1', '3ffe::1', '2000::1'],
  // By the address inside: mapped, compatible, NAT64, 6to4.
  ...['::ffff:1.1.1.1', '::101:101', '64:ff9b::101:101', '2002:101:101::1'],
];

/** First and last address of each entry of the registries, and what stands for none of them. */
const REFUSED = [
  ...['0.0.0.0', '0.255.255.255', '10.0.0.0', '10.255.255.255', '100.64.0.0', '100.127.255.255'],
  ...['127.0.0.0', '127.0.0.1', '127.255.255.255', '169.254.0.0', '169.254.169.254'],
  ...['172.16.0.0', '172.31.255.255', '192.0.0.0', '192.0.0.9', '192.0.0.170', '192.0.0.255'],
  ...['192.0.2.0', '192.0.2.255', '192.31.196.1', '192.52.193.1', '192.88.99.1', '192.168.0.0'],
  ...['192.168.255.255', '192.175.48.1', '198.18.0.0', '198.19.255.255', '198.51.100.7'],
  ...['203.0.113.7', '224.0.0.1', '239.255.255.255', '240.0.0.0', '255.255.255.255'],
  ...['::', '::1', '64:ff9b:1::1', '100::1', '100:0:0:1::1', '2001::1', '2001:1::1', '2001:2::1'],
  ...['2001:3::1', '2001:4:112::1', '2001:10::1', '2001:20::1', '2001:30::1', '2001:1ff:ffff::1'],
  ...['2001:db8::1', '2620:4f:8000::1', '3fff::1', '3fff:fff::1', '5f00::1', 'fc00::1', 'fdff::1'],
  ...['fe80::1', 'febf::1', 'fec0::1', 'ff02::1', '4000::1', '1fff::1', '::ffff:0:127.0.0.1'],
  ...['::ffff:127.0.0.1', '::ffff:10.0.0.1', '::127.0.0.1', '64:ff9b::7f00:1', '64:ff9b::a00:1'],
  ...['2002:7f00:1::1', '2002:c0a8:101::', '2002:a9fe:a9fe::'],
  ...['fe80::1%eth0', '1.1.1.1%eth0', 'example.com', ''],
  // This machine's own.
  ...['8.8.4.4', '::ffff:8.8.4.4', '2a00:1450::7', '2a00:1450:0:0:0:0:0:7'],
];

/** Addresses and networks that allow them. */
const ALLOWED = {
  ...{ '10.1.2.3': '10.0.0.0/8', '127.0.0.1': '127.0.0.0/8', '::1': '::1/128' },
  ...{ '::ffff:10.1.2.3': '10.0.0.0/8', '64:ff9b::a01:203': '10.0.0.0/8', 'fd12::1': 'fd00::/8' },
  ...{ '64:ff9b:1::1': '64:ff9b:1::/48', '8.8.4.4': '8.8.4.4/32', '1.1.1.1': '0.0.0.0/0' },
};
/** Addresses and networks that do not, for they are others, or of the link. */
const NOT_ALLOWED = {
  ...{ '10.1.2.3': '10.1.0.0/24', '127.0.0.1': 'fd00::/8', '169.254.169.254': '0.0.0.0/0' },
  ...{ '169.254.1.1': '169.254.0.0/16', '::ffff:169.254.169.254': '::/0', 'fe80::1': '::/0' },
  ...{ '2002:a9fe:a9fe::1': '::/0' },
};

describe('an address (§30.11)', () => {
  it('is public, refused or allowed', () => {
    const judged = (addresses: readonly string[]) =>
      addresses.map((address) => [address, judge.judge(address)]);
    expect(judged(PUBLIC)).toEqual(PUBLIC.map((address) => [address, 'public']));
    expect(judged(REFUSED)).toEqual(REFUSED.map((address) => [address, 'refused']));
    for (const [networks, verdict] of [
      [ALLOWED, 'private'],
      [NOT_ALLOWED, 'refused'],
    ] as const) {
      for (const [address, network] of Object.entries(networks)) {
        const judgement = allowing('192.168.7.0/24', network).judge(address);
        expect([address, network, judgement]).toEqual([address, network, verdict]);
      }
    }
  });

  it('is judged by the address of IPv4 that it carries, in each form', () => {
    const byte = fc.integer({ min: 0, max: 255 });
    fc.assert(
      fc.property(fc.tuple(byte, byte, byte, byte), ([a, b, c, d]) => {
        const plain = judge.judge(`${a}.${b}.${c}.${d}`);
        const [high, low] = [a * 256 + b, c * 256 + d].map((group) => group.toString(16));
        for (const form of [
          `::ffff:${high}:${low}`,
          `64:ff9b::${high}:${low}`,
          `2002:${high}:${low}::`,
        ]) {
          expect(judge.judge(form)).toBe(plain);
        }
      }),
    );
  });
});

const NOT_PUBLIC = 'This address is not public';
const NOT_HTTPS = 'Must be an https:// address';

describe('the URL of a destination (§30.5)', () => {
  it('may stand, or is refused in words', () => {
    const words = {
      // What a name resolves to is judged when it is dialled.
      none: [
        'hooks.example.com/T0/B0',
        'example.com:8443/',
        '1.1.1.1/',
        '[2606:4700::1111]/',
        'localhost/',
      ],
      [NOT_PUBLIC]: [
        ...['0x7f.1/', '2130706433/', '017700000001/', '127.1/', '127.0.0.1./', '0.0.0.0/', '0/'],
        ...['①②⑦.0.0.1/', '%31%32%37.0.0.1/', '[::ffff:127.0.0.1]/', '[::]/', '192.168.1.1:8443/'],
        ...['[64:ff9b::10.0.0.1]/', 'http://169.254.169.254/latest'],
      ],
      [NOT_HTTPS]: [
        ...['http://example.com/', 'http://1.1.1.1/', 'ftp://example.com/', 'file:///etc/passwd'],
      ],
      'Must have no user name and password': ['u:p@example.com/'],
    };
    for (const [expected, urls] of Object.entries(words)) {
      for (const rest of urls) {
        const url = rest.includes('://') ? rest : `https://${rest}`;
        expect([url, judge.refuseUrl(url) ?? 'none']).toEqual([url, expected]);
      }
    }
    expect(judge.refuseUrl('hooks.example.com')).toBe(NOT_HTTPS);
  });

  it('may be http only for what the operator allows', () => {
    const allowed = allowing('127.0.0.0/8');
    expect(allowed.refuseUrl('http://127.0.0.1:9000/')).toBeUndefined();
    // The name is judged when it is dialled: http reaches only what is allowed.
    expect(allowed.refuseUrl('http://receiver.internal/')).toBeUndefined();
    expect(allowed.refuseUrl('http://1.1.1.1/')).toBe(NOT_HTTPS);
    expect(allowed.refuseUrl('http://10.0.0.1/')).toBe(NOT_PUBLIC);
  });
});
