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

describe('an address', () => {
  it.each(PUBLIC)('%s is public', (address) => expect(judge.judge(address)).toBe('public'));

  it.each(REFUSED)('%s is refused', (address) => expect(judge.judge(address)).toBe('refused'));

  it.each([
    ['10.1.2.3', '10.0.0.0/8'],
    ['127.0.0.1', '127.0.0.0/8'],
    ['::1', '::1/128'],
    ['::ffff:10.1.2.3', '10.0.0.0/8'],
    ['64:ff9b::a01:203', '10.0.0.0/8'],
    ['64:ff9b:1::1', '64:ff9b:1::/48'],
    ['fd12::1', 'fd00::/8'],
    ['8.8.4.4', '8.8.4.4/32'],
    ['1.1.1.1', '0.0.0.0/0'],
  ])('%s is allowed by %s', (address, network) => {
    expect(allowing('192.168.7.0/24', network).judge(address)).toBe('private');
  });

  it.each([
    ['10.1.2.3', '10.1.0.0/24'],
    ['127.0.0.1', 'fd00::/8'],
    ['169.254.169.254', '0.0.0.0/0'],
    ['169.254.169.254', '169.254.0.0/16'],
    ['::ffff:169.254.169.254', '::/0'],
    ['2002:a9fe:a9fe::1', '::/0'],
    ['fe80::1', '::/0'],
  ])('%s is not allowed by %s', (address, network) => {
    expect(allowing(network).judge(address)).toBe('refused');
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

describe('the URL of a destination', () => {
  it.each([
    'https://hooks.example.com/T0/B0',
    'https://example.com:8443/',
    'https://1.1.1.1/',
    'https://[2606:4700::1111]/',
    // What a name resolves to is judged when it is dialled.
    'https://localhost/',
  ])('%s may stand', (url) => expect(judge.refuseUrl(url)).toBeUndefined());

  it.each([
    ['https://0x7f.1/', NOT_PUBLIC],
    ['https://2130706433/', NOT_PUBLIC],
    ['https://017700000001/', NOT_PUBLIC],
    ['https://127.1/', NOT_PUBLIC],
    ['https://127.0.0.1./', NOT_PUBLIC],
    ['https://0.0.0.0/', NOT_PUBLIC],
    ['https://0/', NOT_PUBLIC],
    ['https://①②⑦.0.0.1/', NOT_PUBLIC],
    ['https://%31%32%37.0.0.1/', NOT_PUBLIC],
    ['https://[::ffff:127.0.0.1]/', NOT_PUBLIC],
    ['https://[::]/', NOT_PUBLIC],
    ['https://[64:ff9b::10.0.0.1]/', NOT_PUBLIC],
    ['https://192.168.1.1:8443/', NOT_PUBLIC],
    ['http://169.254.169.254/latest', NOT_PUBLIC],
    ['http://example.com/', NOT_HTTPS],
    ['http://1.1.1.1/', NOT_HTTPS],
    ['ftp://example.com/', NOT_HTTPS],
    ['file:///etc/passwd', NOT_HTTPS],
    ['hooks.example.com', NOT_HTTPS],
    ['https://u:p@example.com/', 'Must have no user name and password'],
  ])('%s is refused', (url, words) => expect(judge.refuseUrl(url)).toBe(words));

  it('may be http only for what the operator allows', () => {
    const allowed = allowing('127.0.0.0/8');
    expect(allowed.refuseUrl('http://127.0.0.1:9000/')).toBeUndefined();
    // The name is judged when it is dialled: http reaches only what is allowed.
    expect(allowed.refuseUrl('http://receiver.internal/')).toBeUndefined();
    expect(allowed.refuseUrl('http://1.1.1.1/')).toBe(NOT_HTTPS);
    expect(allowed.refuseUrl('http://10.0.0.1/')).toBe(NOT_PUBLIC);
  });
});
