// Tests the cache of addresses that clients invent: it keeps addresses that come again, and never more than
// its bound.

import { expect, it } from 'vitest';
import { GenerationalCache } from '../../src/http/device/generational-cache.ts';

/** Shows a key twice, which keeps it. */
function show(map: GenerationalCache<number>, key: string, value: number): void {
  map.keep(key, value);
  map.keep(key, value);
}

it('keeps a key from its second sight on, with its newest value', () => {
  const map = new GenerationalCache<number>(10);
  expect(map.keep('a', 1)).toBe(false);
  expect(map.get('a')).toBeUndefined();
  expect(map.keep('a', 2)).toBe(true);
  expect(map.get('a')).toBe(2);
  map.keep('a', 3);
  expect(map.get('a')).toBe(3);
});

it('of a flood of keys that never come again keeps nothing, and loses nothing of the others', () => {
  const map = new GenerationalCache<number>(10);
  show(map, 'a', 1);
  let kept = 0;
  for (let index = 0; index < 100_000; index++) kept += map.keep(`flood ${index}`, index) ? 1 : 0;
  expect(kept).toBeLessThan(10);
  expect(map.get('a')).toBe(1);
});

it('holds no more than its bound, and at least the newest half of it', () => {
  const map = new GenerationalCache<number>(100);
  for (let index = 0; index < 1000; index++) show(map, `key ${index}`, index);
  const held = Array.from({ length: 1000 }, (_, index) => map.get(`key ${index}`)).filter(
    (value) => value !== undefined,
  );
  expect(held.length).toBeLessThanOrEqual(100);
  expect(held.slice(-50)).toEqual(Array.from({ length: 50 }, (_, index) => 950 + index));
});

it('what is asked for now and then stays, however many others come', () => {
  const map = new GenerationalCache<number>(100);
  show(map, 'a', 1);
  for (let index = 0; index < 1000; index++) {
    show(map, `key ${index}`, index);
    if (index % 40 === 0) expect(map.get('a')).toBe(1);
  }
});

it('keeps no key of more than 256 characters, however often it comes', () => {
  const map = new GenerationalCache<number>(100);
  show(map, 'k'.repeat(256), 1);
  show(map, 'k'.repeat(257), 2);
  expect(map.get('k'.repeat(256))).toBe(1);
  expect(map.get('k'.repeat(257))).toBeUndefined();
});

it('tells keys apart that differ where it does not look first', () => {
  const map = new GenerationalCache<number>(100);
  const keys = Array.from('abcdefghijklmnopqrst', (letter) => `/u/${letter}${'/stable'.repeat(6)}`);
  for (const [index, key] of keys.entries()) show(map, key, index);
  for (let round = 0; round < 2; round++) {
    expect(keys.map((key) => map.get(key))).toEqual(keys.map((_, index) => index));
  }
  expect(map.get(`/u/z${'/stable'.repeat(6)}`)).toBeUndefined();
});
