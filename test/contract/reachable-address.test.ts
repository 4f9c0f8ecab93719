// Tests which addresses a code host may reach.

import { expect, it } from 'vitest';
import { isReachableAddress } from '../../src/contract/address.ts';

it.each([
  ['https://updates.example.com/wh/github/app_1', true],
  ['https://203.0.113.7/wh', true],
  ['http://127.0.0.1:8080/wh', false],
  ['http://localhost:8080/wh', false],
  ['http://[::1]:8080/wh', false],
  ['http://10.1.2.3/wh', false],
  ['http://172.20.0.5/wh', false],
  ['http://172.32.0.5/wh', true],
  ['http://192.168.1.4/wh', false],
  ['http://0.0.0.0:8080/wh', false],
  ['http://127.1/wh', false],
  ['http://100.64.0.1/wh', false],
  ['http://100.128.0.1/wh', true],
  ['http://169.254.1.1/wh', false],
  ['http://[fd00::1]/wh', false],
  ['http://[::ffff:10.0.0.1]/wh', false],
  ['http://[2001:db8::1]/wh', true],
  ['https://sluice/wh', false],
  ['https://sluice.local./wh', false],
  ['https://updates.LAN/wh', false],
  ['https://updates.svc.cluster.local/wh', false],
  ['https://localhost.example.com/wh', true],
  ['https://10.example.com/wh', true],
  ['no address', false],
])('%s can be reached from elsewhere: %s', (url, isReachable) => {
  expect(isReachableAddress(url)).toBe(isReachable);
});
