// Tests staged rollout: which devices are in the cohort at n percent, and that no device ever drops out
// (docs/contract.md 3.8 and 13.7). Tests the hash of cohorts, and those beside it: the bytes that all of them
// read, the second hash, which tells any two devices apart where the first does not, and the keyed one.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  COHORT_BUCKETS,
  cohortBucket,
  cohortThreshold,
  hashText,
} from '../../../src/domain/decision/cohort.ts';
import { keyedHash, secondHash, utf8WordsOf } from '../../../src/domain/decision/hashes.ts';
import { murmur3 } from '../../support/murmur3.ts';

const DEVICE_COUNT = 50_000;

/** Ids as devices send them: UUIDs that differ in every part, and the same on every run. */
const DEVICE_HASHES: readonly number[] = Array.from({ length: DEVICE_COUNT }, (_, index) => {
  const hex = [11, 22, 33, 44].map((seed) => hashText(`${index}`, seed).toString(16)).join('');
  const [, a, b, c, d, e] = /^(.{8})(.{4}).(.{3}).(.{3})(.{12})/.exec(hex.padStart(32, '0')) ?? [];
  return hashText(`${a}-${b}-4${c}-a${d}-${e}`);
});

/** Ids as orchestrators number them: hardly different from each other. */
const COUNTED_HASHES: readonly number[] = Array.from({ length: DEVICE_COUNT }, (_, index) =>
  hashText(`device-${index}`),
);

const RELEASE_IDS = ['rel_1', 'rel_2', '3f1c1f5e-9f0e-4b0c-8f53-3f8a0f5f9b11', '', 'ü'];

/** Expects that places are equally full, by chi-square within four standard deviations. */
function expectUniform(
  count: number,
  hashes: readonly number[],
  placeOf: (hash: number) => number,
) {
  const cells = new Array<number>(count).fill(0);
  for (const hash of hashes) cells[placeOf(hash)] = (cells[placeOf(hash)] ?? 0) + 1;
  const usual = hashes.length / count;
  const square = cells.reduce((sum, each) => sum + (each - usual) ** 2 / usual, 0);
  expect(square).toBeLessThan(count - 1 + 4 * Math.sqrt(2 * (count - 1)));
}

describe('the hash is MurmurHash3 x86 32-bit', () => {
  it.each<[text: string, seed: number, hash: number]>([
    ['', 0, 0x00000000],
    ['', 1, 0x514e28b7],
    ['\0', 0, 0x514e28b7],
    ['aaa', 0x9747b28c, 0x283e0130],
    ['abcd', 0x9747b28c, 0xf0478627],
    ['test', 0, 0xba6bd213],
    ['Hello, world!', 0x9747b28c, 0x24884cba],
    ['The quick brown fox jumps over the lazy dog', 0, 0x2e4ff723],
    ['a'.repeat(256), 0x9747b28c, 0x37405bdc],
    ['ππππππππ', 0x9747b28c, 0xd58063c1],
  ])('published vector: text "%s" with seed %i', (text, seed, hash) => {
    expect(hashText(text, seed)).toBe(hash);
    expect(murmur3(Buffer.from(text, 'utf8'), seed)).toBe(hash);
  });

  it('a text hashes as its UTF-8 bytes do, ASCII (the quick path) or not', () => {
    const anyText = fc.oneof(
      fc.string({ unit: 'binary-ascii', maxLength: 140 }),
      fc.string({ unit: 'binary', maxLength: 40 }),
    );
    fc.assert(
      fc.property(anyText, fc.integer(), (text, seed) => {
        expect(hashText(text, seed)).toBe(murmur3(Buffer.from(text, 'utf8'), seed));
      }),
    );
  });
});

describe('a bucket (§13.7)', () => {
  it('is the same on every node and after every upgrade: these values are never to change', () => {
    const device = hashText('7f4df2c7-6d4e-4f0b-9a1c-1f2e3d4c5b6a');
    const releases = ['rel_1', 'rel_2', 'rel_3'];
    expect(releases.map((id) => cohortBucket(device, hashText(id)))).toEqual([3386, 3086, 3372]);
  });

  it('is one of 10,000, the highest at 100 % included, and none at 0 %', () => {
    expect([COHORT_BUCKETS, cohortThreshold(0), cohortThreshold(100)]).toEqual([10_000, 0, 10_000]);
    const anyHash = fc.integer({ min: 0, max: 0xffffffff });
    fc.assert(
      fc.property(anyHash, anyHash, (hash, seed) => {
        const bucket = cohortBucket(hash, seed);
        expect(Number.isInteger(bucket) && bucket >= 0 && bucket < COHORT_BUCKETS).toBe(true);
      }),
    );
  });

  it.each(RELEASE_IDS)('of "%s" is in each hundredth as often', (id) => {
    for (const hashes of [DEVICE_HASHES, COUNTED_HASHES]) {
      expectUniform(100, hashes, (hash) => Math.floor(cohortBucket(hash, hashText(id)) / 100));
    }
  });

  it('that is in a cohort stays in it when the percentage is raised (§3.8)', () => {
    const anyPct = fc.integer({ min: 0, max: 100 });
    fc.assert(
      fc.property(fc.string(), fc.string(), anyPct, anyPct, (deviceId, releaseId, one, other) => {
        const bucket = cohortBucket(hashText(deviceId), hashText(releaseId));
        const isInAtLower = bucket < cohortThreshold(Math.min(one, other));
        const isInAtHigher = bucket < cohortThreshold(Math.max(one, other));
        expect(isInAtLower && !isInAtHigher).toBe(false);
      }),
    );
  });

  it.each([
    ['rel_1', 'rel_2'],
    ['rel_1', 'rel_10'],
    ['0198c1a0-0000-7000-8000-000000000001', '0198c1a0-0000-7000-8000-000000000002'],
  ])('in %s says nothing of that in %s: 4 by 4 quarters are equally full', (...ids) => {
    const [first, second] = ids.map((id) => hashText(id)) as [number, number];
    const quarter = (hash: number, seed: number) => Math.floor(cohortBucket(hash, seed) / 2500);
    for (const hashes of [DEVICE_HASHES, COUNTED_HASHES]) {
      expectUniform(16, hashes, (hash) => quarter(hash, first) * 4 + quarter(hash, second));
    }
  });
});

describe('the words of a text', () => {
  function expectUtf8(text: string): void {
    const { words, wordCount, byteLength, isAscii } = utf8WordsOf(text);
    const all = Buffer.from(words.buffer, 0, wordCount * 4);
    const [bytes, padding] = [all.subarray(0, byteLength), all.subarray(byteLength)];
    expect(bytes.toString('hex')).toBe(Buffer.from(text, 'utf8').toString('hex'));
    expect(padding.every((byte) => byte === 0) && padding.length < 4).toBe(true);
    expect(isAscii).toBe(bytes.length === text.length && bytes.every((byte) => byte < 0x80));
  }

  it('are its UTF-8 with zeros up to a whole word, after any other texts', () => {
    const anyText = fc.oneof(
      fc.string({ unit: 'binary-ascii', maxLength: 140 }),
      fc.string({ unit: 'binary', maxLength: 40 }),
    );
    const texts = fc.array(anyText, { minLength: 1, maxLength: 6 });
    fc.assert(fc.property(texts, (all) => all.forEach(expectUtf8)));
    // Longer than any id, half a surrogate pair, and after each an equal text that is another string.
    for (const text of [
      'x'.repeat(70_001),
      'ππ-'.repeat(30_000),
      'a\ud800',
      `${'a'.repeat(35)}ü`,
    ]) {
      for (const each of ['something else', text, Buffer.from('something else').toString()])
        expectUtf8(each);
    }
  });
});

describe('the second hash', () => {
  it('is the same in every process and version: these values are never to change', () => {
    const tags = ['', 'a', 'device-1', 'ππ'].map((text) => secondHash(text));
    expect(tags).toEqual([0, 1416963827, 976124044, 917503028]);
    expect(secondHash('a', 1)).not.toBe(secondHash('a'));
  });

  it('collides as seldom as random numbers, and never where the first hash does', () => {
    const ids = Array.from({ length: 200_000 }, (_, at) => {
      return `7f4df2c7-6d4e-4f0b-9a1c-${at.toString(16).padStart(12, '0')}`;
    });
    expect(new Set(ids.map((id) => hashText(id))).size).toBeLessThan(ids.length);
    // Some five collisions are usual.
    expect(ids.length - new Set(ids.map((id) => secondHash(id))).size).toBeLessThan(20);
    expect(new Set(ids.map((id) => `${hashText(id)} ${secondHash(id)}`)).size).toBe(ids.length);
  });
});

describe('the keyed hash', () => {
  function hashOf(text: string, key: Int32Array): string {
    const hash = new Int32Array(2);
    keyedHash(text, key, hash);
    return Buffer.from(hash.buffer).toString('hex');
  }

  it('is that of its authors’ reference code (vectors_hsip64): bytes 0, 1, 2 … under the key 0 to 7', () => {
    const key = new Int32Array([0x0302_0100, 0x0706_0504]);
    expect(['', '\0', '\0\x01', '\0\x01\x02'].map((text) => hashOf(text, key))).toEqual([
      ...['218d1f59b9b83cc8', 'be552412f8387315', '064f39ef7c50eb57', 'ce0f1a45f7060679'],
    ]);
  });

  it('depends on every word of the key, on every character and on the length', () => {
    const keys = [
      [1, 0],
      [0, 1],
      [0, 0],
    ].map((words) => new Int32Array(words));
    const texts = ['', '\0', '\0\0\0\0', 'device-1', 'device-2', 'xevice-1', 'ππ'];
    const hashes = keys.flatMap((key) => texts.map((text) => hashOf(text, key)));
    expect(new Set(hashes).size).toBe(keys.length * texts.length);
  });
});
