// Tests staged rollout: which devices are in the cohort at n percent, and that no device ever drops out
// (docs/contract.md 3.8 and 13.7).

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  COHORT_BUCKETS,
  cohortBucket,
  cohortThreshold,
  hashText,
} from '../../../src/domain/decision/cohort.ts';
import { murmur3 } from '../../support/murmur3.ts';

const DEVICE_COUNT = 100_000;

/** Ids as devices send them: UUIDs that differ in every part, and the same on every run. */
const DEVICE_HASHES: readonly number[] = Array.from({ length: DEVICE_COUNT }, (_, index) => {
  const hex = [11, 22, 33, 44].map((seed) => hashText(`${index}`, seed).toString(16)).join('');
  const digits = hex.padStart(32, '0');
  const uuid = [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `4${digits.slice(13, 16)}`,
    `a${digits.slice(17, 20)}`,
    digits.slice(20, 32),
  ].join('-');
  return hashText(uuid);
});

/** Ids as orchestrators number them: hardly different from each other. */
const COUNTED_HASHES: readonly number[] = Array.from({ length: DEVICE_COUNT }, (_, index) =>
  hashText(`device-${index}`),
);

const RELEASE_IDS = ['rel_1', 'rel_2', '3f1c1f5e-9f0e-4b0c-8f53-3f8a0f5f9b11', '', 'ü'];

function countIn(hashes: readonly number[], releaseId: string, rolloutPct: number): number {
  const seed = hashText(releaseId);
  const threshold = cohortThreshold(rolloutPct);
  return hashes.filter((hash) => cohortBucket(hash, seed) < threshold).length;
}

/** Whether a count is what n tries of this probability give, to within four standard deviations. */
function expectBinomial(count: number, tries: number, probability: number): void {
  const sigma = Math.sqrt(tries * probability * (1 - probability));
  expect(Math.abs(count - tries * probability)).toBeLessThan(4 * sigma);
}

describe('the hash is MurmurHash3 x86 32-bit', () => {
  const bytes = `
    - 0 0x00000000 | - 1 0x514e28b7 | - 0xffffffff 0x81f16f39 | ffffffff 0 0x76293b50
    21436587 0 0xf55b516b | 21436587 0x5082edee 0x2362f9de | 214365 0 0x7e4a8634
    2143 0 0xa0f7b07a | 21 0 0x72661cf4 | 00000000 0 0x2362f9de | 000000 0 0x85f0b427
    0000 0 0x30f4c306 | 00 0 0x514e28b7
  `
    .trim()
    .split(/\s*[|\n]\s*/)
    .map((row) => row.split(' ') as [hex: string, seed: string, hash: string]);
  it.each(bytes)(
    'published vector, of what it is compared with: bytes [%s] with seed %s',
    (hex, seed, hash) => {
      expect(murmur3(Buffer.from(hex.replace('-', ''), 'hex'), Number(seed))).toBe(Number(hash));
    },
  );

  const texts: readonly (readonly [text: string, seed: number, hash: number])[] = [
    ['', 0, 0x00000000],
    ['a', 0x9747b28c, 0x7fa09ea6],
    ['aa', 0x9747b28c, 0x5d211726],
    ['aaa', 0x9747b28c, 0x283e0130],
    ['aaaa', 0x9747b28c, 0x5a97808a],
    ['ab', 0x9747b28c, 0x74875592],
    ['abc', 0x9747b28c, 0xc84a62dd],
    ['abcd', 0x9747b28c, 0xf0478627],
    ['abc', 0, 0xb3dd93fa],
    ['test', 0, 0xba6bd213],
    ['test', 0x9747b28c, 0x704b81dc],
    ['Hello, world!', 0, 0xc0363e43],
    ['Hello, world!', 0x9747b28c, 0x24884cba],
    ['The quick brown fox jumps over the lazy dog', 0, 0x2e4ff723],
    ['The quick brown fox jumps over the lazy dog', 0x9747b28c, 0x2fa826cd],
    ['abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq', 0, 0xee925b90],
    ['a'.repeat(256), 0x9747b28c, 0x37405bdc],
    ['ππππππππ', 0x9747b28c, 0xd58063c1],
  ];
  it.each(texts)('published vector: text "%s" with seed %i', (text, seed, hash) => {
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
        const hash = hashText(text, seed);
        expect(hash).toBe(murmur3(Buffer.from(text, 'utf8'), seed));
        expect(Number.isInteger(hash) && hash >= 0 && hash <= 0xffffffff).toBe(true);
      }),
    );
  });
});

describe('a bucket is a stable, uniform hash over at least 10,000 buckets (§13.7)', () => {
  it('there are at least 10,000, and every percentage point is a whole number of them', () => {
    expect(COHORT_BUCKETS).toBeGreaterThanOrEqual(10_000);
    expect(COHORT_BUCKETS % 100).toBe(0);
  });

  it('is the same on every node and after every upgrade: these values are never to change', () => {
    const device = hashText('7f4df2c7-6d4e-4f0b-9a1c-1f2e3d4c5b6a');
    const releases = ['rel_1', 'rel_2', 'rel_3'];
    expect(releases.map((id) => cohortBucket(device, hashText(id)))).toEqual([3386, 3086, 3372]);
  });

  it('is a whole number from 0 to 9,999 for any two hashes', () => {
    const anyHash = fc.integer({ min: 0, max: 0xffffffff });
    fc.assert(
      fc.property(anyHash, anyHash, (hash, seed) => {
        const bucket = cohortBucket(hash, seed);
        expect(Number.isInteger(bucket) && bucket >= 0 && bucket < COHORT_BUCKETS).toBe(true);
      }),
    );
  });

  for (const rolloutPct of [1, 10, 50]) {
    it(`${rolloutPct} % of 100,000 devices is ${rolloutPct} % of them, within 4 sigma`, () => {
      for (const releaseId of RELEASE_IDS) {
        for (const hashes of [DEVICE_HASHES, COUNTED_HASHES]) {
          expectBinomial(countIn(hashes, releaseId, rolloutPct), DEVICE_COUNT, rolloutPct / 100);
        }
      }
    });
  }

  it('fills 100 equal ranges equally: chi-square over 99 degrees of freedom within 4 sigma', () => {
    for (const hashes of [DEVICE_HASHES, COUNTED_HASHES]) {
      const cells = new Array<number>(100).fill(0);
      for (const hash of hashes) {
        const cell = Math.floor(cohortBucket(hash, hashText('rel_1')) / 100);
        cells[cell] = (cells[cell] ?? 0) + 1;
      }
      expect(chiSquare(cells, DEVICE_COUNT / 100)).toBeLessThan(99 + 4 * Math.sqrt(2 * 99));
    }
  });
});

describe('rollout', () => {
  it('0 % offers to nobody, 100 % to everybody (§13.7)', () => {
    for (const id of RELEASE_IDS) {
      expect(countIn(DEVICE_HASHES, id, 0)).toBe(0);
      expect(countIn(DEVICE_HASHES, id, 100)).toBe(DEVICE_COUNT);
    }
  });

  it('cohorts are sticky: raising the percentage never drops a device (§3.8)', () => {
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
});

describe('two releases pick their cohorts independently of each other', () => {
  const pairs = [
    ['rel_1', 'rel_2'],
    ['rel_1', 'rel_10'],
    ['0198c1a0-0000-7000-8000-000000000001', '0198c1a0-0000-7000-8000-000000000002'],
  ] as const;

  it.each(pairs)(
    '%s and %s at 50 %%: a quarter of the devices is in both, within 4 sigma',
    (...ids) => {
      const [first, second] = ids.map((id) => hashText(id)) as [number, number];
      const half = cohortThreshold(50);
      const inBoth = DEVICE_HASHES.filter(
        (hash) => cohortBucket(hash, first) < half && cohortBucket(hash, second) < half,
      ).length;
      expectBinomial(inBoth, DEVICE_COUNT, 0.25);
    },
  );

  it.each(pairs)('%s and %s: 4 by 4 quarters are equally full (chi-square)', (...ids) => {
    const [first, second] = ids.map((id) => hashText(id)) as [number, number];
    const cells = new Array<number>(16).fill(0);
    for (const hash of COUNTED_HASHES) {
      const cell = quarter(cohortBucket(hash, first)) * 4 + quarter(cohortBucket(hash, second));
      cells[cell] = (cells[cell] ?? 0) + 1;
    }
    expect(chiSquare(cells, DEVICE_COUNT / 16)).toBeLessThan(15 + 4 * Math.sqrt(2 * 15));
  });
});

function quarter(bucket: number): number {
  return Math.floor(bucket / (COHORT_BUCKETS / 4));
}

function chiSquare(cells: readonly number[], expected: number): number {
  return cells.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
}
