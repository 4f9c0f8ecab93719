// Tests the order of channels, the share that a release is served at, and which addresses others can reach.

import { expect, it } from 'vitest';
import { channelOrder, servedShare } from '../../src/console/format/serving.ts';
import { isReachableAddress } from '../../src/console/format/webhook.ts';

it('channels: stable first, then by name, numbers by their value', () => {
  const names = ['beta', 'channel-19', 'stable', 'channel-9', 'alpha'];
  expect(names.toSorted(channelOrder)).toEqual([
    ...['stable', 'alpha', 'beta', 'channel-9', 'channel-19'],
  ]);
});

it('a release that is not published is served to nobody, whatever its roll-out was', () => {
  const at = (status: 'published' | 'paused' | 'rolled_back' | 'deprecated') =>
    servedShare({ status, rolloutPct: 50 });
  expect([at('published'), at('paused'), at('rolled_back'), at('deprecated')]).toEqual([
    50, 0, 0, 0,
  ]);
});

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
