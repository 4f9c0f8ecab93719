// Tests which addresses of webhooks others can reach.

import { expect, it } from 'vitest';
import { isReachableAddress } from '../../src/console/format/webhook.ts';

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
  ['no address', false],
])('%s can be reached from elsewhere: %s', (url, isReachable) => {
  expect(isReachableAddress(url)).toBe(isReachable);
});
