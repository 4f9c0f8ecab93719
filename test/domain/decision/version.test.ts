// Tests which texts are versions, and how versions are ordered (docs/contract.md 10).

import fc from 'fast-check';
import semver from 'semver';
import { describe, expect, it } from 'vitest';
import { LIMIT } from '../../../src/contract/limit.ts';
import { byVersion, compareVersions, parseVersion } from '../../../src/domain/decision/version.ts';
import {
  collectLandmarks,
  versionPosition,
} from '../../../src/domain/decision/version-position.ts';
import { version } from '../sample.ts';

/** Digits with leading zeros now and then, and lengths past what a double holds exactly. */
const anyDigits = fc.oneof(
  { weight: 6, arbitrary: fc.nat(3).map(String) },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom('0', '00'), fc.nat(3)).map((p) => p.join('')) },
  { weight: 1, arbitrary: fc.stringMatching(/^[0-9]{14,18}$/) },
);
const anyIdentifier = fc.oneof(
  anyDigits,
  fc.constantFrom('alpha', 'beta', 'rc', 'Beta', '-', '0a', '1-', 'x'),
);
const anyIdentifiers = fc.array(anyIdentifier, { minLength: 1, maxLength: 3 });

const anyVersionText = fc
  .record({
    lead: fc.constantFrom('', '', 'v', 'V'),
    parts: fc.array(anyDigits, { minLength: 1, maxLength: 4 }),
    prerelease: fc.option(anyIdentifiers),
    build: fc.option(anyIdentifiers),
  })
  .map(
    ({ lead, parts, prerelease, build }) =>
      lead +
      parts.join('.') +
      (prerelease === null ? '' : `-${prerelease.join('.')}`) +
      (build === null ? '' : `+${build.join('.')}`),
  )
  .filter((text) => text.length <= LIMIT.versionLengthMax);
const anyVersion = anyVersionText.map(version);

/** Numbers of strict SemVer versions in the range that the `semver` package can read. */
const anyStrictNumber = fc.oneof(fc.nat(4), fc.maxSafeNat()).map(String);
const anyStrictIdentifier = fc.oneof(
  anyStrictNumber,
  fc.stringMatching(/^[0-9A-Za-z-]{1,4}$/).filter((text) => !/^0\d+$/.test(text)),
);
const anyStrictText = fc
  .record({
    parts: fc.tuple(anyStrictNumber, anyStrictNumber, anyStrictNumber),
    prerelease: fc.option(fc.array(anyStrictIdentifier, { minLength: 1, maxLength: 3 })),
  })
  .map(({ parts, prerelease }) =>
    prerelease === null ? parts.join('.') : `${parts.join('.')}-${prerelease.join('.')}`,
  )
  .filter((text) => text.length <= LIMIT.versionLengthMax);

function order(left: string, right: string): number {
  return Math.sign(compareVersions(version(left), version(right)));
}

describe('grammar: optional leading v or V, one to four numeric parts, -prerelease, +build', () => {
  const accepted = `
    1 = 1.0.0 | 1.2 = 1.2.0 | 1.2.3 = 1.2.3 | 1.2.3.4 = 1.2.3.4 | v1.2 = 1.2.0 | V1.2.3 = 1.2.3
    0 = 0.0.0 | 0.0.0.0 = 0.0.0 | 1.2.3.0 = 1.2.3 | 2026.01.15 = 2026.1.15 | 007 = 7.0.0
    1.0.0-beta.1 = 1.0.0-beta.1 | 1-rc = 1.0.0-rc | 1.0-rc.01 = 1.0.0-rc.1 | 1.0.0-00 = 1.0.0-0
    1.0.0-0a = 1.0.0-0a | 1.0.0-- = 1.0.0-- | 1.0.0-Beta = 1.0.0-Beta | 1.0.0+1 = 1.0.0+1
    1.0.0+01 = 1.0.0+01 | 1.0+exp.sha-5114f85 = 1.0.0+exp.sha-5114f85 | 1.0.0-a+b = 1.0.0-a+b
    v1.2.00.0 = 1.2.0 | 01.002 = 1.2.0 | 1.0.0-RC = 1.0.0-RC
    1.0.0+a-b = 1.0.0+a-b | 99999999999999999999.0.0 = 99999999999999999999.0.0
    0000000000000000000001.0.0 = 1.0.0
  `
    .trim()
    .split(/\s*[|\n]\s*/)
    .map((row) => row.split(' = ') as [text: string, canonical: string]);
  it.each(accepted)('accepts %s, which is canonically %s', (text, canonical) => {
    expect(parseVersion(text)?.canonical).toBe(canonical);
  });

  const refused = [
    ...['', ' ', 'v', 'vv1', 'x1', '1.', '.1', '1..2', '1.2.3.4.5', '1.2.x', '*', 'latest', '-1'],
    ...[' 1.0.0', '1.0.0 ', '1.0.0\n', '1.0.0\0', '1 .0', '1,0', '=1.0.0', '^1.0.0', 'v 1'],
    ...['1.0.0-', '1.0.0+', '1.0.0-.', '1.0.0-a..b', '1.0.0-a.', '1.0.0+a..b', '1.0.0+a+b'],
    ...['1.0.0-ä', '1.0.0_1', '1.0.0-a_b', '١.٢.٣', '１.0.0', '1e3', '0x10', '1.0.0-a+', 'NaN'],
  ];
  it.each(refused.map((text) => [JSON.stringify(text), text]))('refuses %s', (_shown, text) => {
    expect(parseVersion(text)).toBeUndefined();
  });

  it('means the same with and without a leading v, which only the grammar reads', () => {
    const plain = fc
      .array(anyDigits, { minLength: 1, maxLength: 4 })
      .map((parts) => parts.join('.'));
    fc.assert(
      fc.property(fc.oneof(plain, anyVersionText), (text) => {
        if (/^v/i.test(text) || text.length === LIMIT.versionLengthMax) return;
        expect(parseVersion(text)).toEqual(parseVersion(`v${text}`));
      }),
    );
    for (const text of ['', '.', '1.', '1..2', '.1.2', '1.2.3.', '1.2.3.4.5', '0.0.0', '00.1.2']) {
      expect(parseVersion(text)).toEqual(parseVersion(`v${text}`));
    }
  });

  it('takes at most 64 characters', () => {
    const longest = `1.0.0-${'a'.repeat(LIMIT.versionLengthMax - 6)}`;
    expect(longest).toHaveLength(64);
    expect(parseVersion(longest)?.canonical).toBe(longest);
    expect(parseVersion(`${longest}a`)).toBeUndefined();
    expect(parseVersion('1'.repeat(64))?.canonical).toBe(`${'1'.repeat(64)}.0.0`);
    expect(parseVersion('1'.repeat(65))).toBeUndefined();
  });

  it('never throws, whatever the text', () => {
    const anyText = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 80 }),
      fc.string({ unit: fc.constantFrom(...'v01.9-+a'), maxLength: 80 }),
    );
    fc.assert(
      fc.property(anyText, (text) => {
        const parsed = parseVersion(text);
        expect(parsed === undefined || typeof parsed.canonical === 'string').toBe(true);
      }),
    );
  });

  it('answers a hostile text: no input makes the grammar backtrack, or this would not end', () => {
    for (const hostile of ['0'.repeat(1e6), `1-${'a.'.repeat(5e5)}`, `1-${'-'.repeat(1e6)}!`]) {
      expect(parseVersion(hostile)).toBeUndefined();
    }
  });
});

describe('canonical form: one spelling for all equal versions (§10.6)', () => {
  it('is a fixed point: reading it again gives itself, and compares equal', () => {
    fc.assert(
      fc.property(
        anyVersion.filter(({ canonical }) => canonical.length <= LIMIT.versionLengthMax),
        (parsed) => {
          const again = version(parsed.canonical);
          expect(again.canonical).toBe(parsed.canonical);
          expect(compareVersions(again, parsed)).toBe(0);
        },
      ),
    );
  });
});

describe('order: SemVer 2.0.0 item 11, the fourth part after patch, then build metadata', () => {
  const ascending = [
    ...['0.0.0-0', '0.0.0', '0.0.0.1', '0.0.1', '0.1', '1.0.0-0', '1.0.0-1', '1.0.0-2', '1.0.0-10'],
    ...['1.0.0--', '1.0.0-alpha', '1.0.0-alpha.1', '1.0.0-alpha.beta', '1.0.0-beta'],
    ...['1.0.0-beta+1', '1.0.0-beta.2', '1.0.0-beta.11', '1.0.0-rc+9', '1.0.0-rc.1', '1.0.0'],
    ...['1.0.0+1', '1.0.0+01'],
    ...['1.0.0+2', '1.0.0+2.1', '1.0.0+10', '1.0.0+a', '1.0.0+a.0', '1.0.0+b', '1.0.0.1-rc'],
    ...['1.0.0.1', '1.0.0.2', '1.0.0.10', '1.0.1', '1.2', '1.10', '2', '10', '2026.01.15'],
    ...['2026.1.16', '9007199254740992.0.0', '9007199254740993.0.0', '99999999999999999999.0.0'],
  ];

  it('every version of the list is below every later one', () => {
    for (const [low, left] of ascending.entries()) {
      for (const [high, right] of ascending.entries()) {
        expect([left, right, order(left, right)]).toEqual([left, right, Math.sign(low - high)]);
      }
    }
  });

  it('numbers of any length compare by value, exactly', () => {
    const digits = fc.bigInt(0n, 10n ** 30n);
    fc.assert(
      fc.property(digits, digits, (left, right) => {
        const expected = left < right ? -1 : left > right ? 1 : 0;
        expect(order(`${left}.0`, `${right}`)).toBe(expected);
        expect(order(`1.0.0-${left}`, `1.0.0-00${right}`)).toBe(expected);
      }),
    );
  });

  it('is reflexive, antisymmetric and transitive, and 0 exactly when the canonical forms are the same', () => {
    fc.assert(
      fc.property(anyVersion, anyVersion, anyVersion, (...three) => {
        for (const [left, right] of three.flatMap((one) =>
          three.map((two) => [one, two] as const),
        )) {
          const forth = Math.sign(compareVersions(left, right));
          expect(forth + Math.sign(compareVersions(right, left))).toBe(0);
          expect(forth === 0).toBe(left.canonical === right.canonical);
        }
        const [low, middle, high] = three.sort(compareVersions) as typeof three;
        expect(compareVersions(low, middle)).toBeLessThanOrEqual(0);
        expect(compareVersions(middle, high)).toBeLessThanOrEqual(0);
        expect(compareVersions(low, high)).toBeLessThanOrEqual(0);
      }),
    );
  });

  it('agrees with the semver package on strict SemVer without build metadata', () => {
    fc.assert(
      fc.property(anyStrictText, anyStrictText, (left, right) => {
        expect(order(left, right)).toBe(semver.compare(left, right));
      }),
    );
    // Two versions that differ only in one prerelease identifier.
    fc.assert(
      fc.property(anyStrictIdentifier, anyStrictIdentifier, (left, right) => {
        const [a, b] = [`1.2.3-rc.${left}`, `1.2.3-rc.${right}`];
        expect(order(a, b)).toBe(semver.compare(a, b));
      }),
    );
  });
});

it('orders by parts on both sides of what fits into one number', () => {
  const part = fc.constantFrom(0, 1, 131_070, 131_071, 131_072, 131_073, 2 ** 40);
  const parts = fc.tuple(part, part, part, part);
  fc.assert(
    fc.property(parts, parts, (left, right) => {
      const [a, b] = [left, right].map((each) => parseVersion(each.join('.')));
      if (a === undefined || b === undefined) throw new Error('both are versions');
      const at = left.findIndex((value, index) => value !== right[index]);
      const expected = at === -1 ? 0 : Math.sign((left[at] ?? 0) - (right[at] ?? 0));
      expect(Math.sign(compareVersions(a, b))).toBe(expected);
    }),
  );
});

it('lists show the highest first, and what is no version last, in the order given', () => {
  const shown = ['1.10.0', '1.10.0-rc.10', '1.10.0-rc.2', '1.9.0', 'nightly', ''];
  const given = ['nightly', '1.9.0', '1.10.0', '1.10.0-rc.2', '', '1.10.0-rc.10'];
  const items = given.map((name) => ({ name }));
  expect(byVersion(items, ({ name }) => name).map(({ name }) => name)).toEqual(shown);
});

const anyNear = fc
  .constantFrom('0.1', '1.0.0-rc', '1', '1.0.0+1', '1.0.0.1', '1.2', '99999999999999999999')
  .map(version);

it('two versions stand alike exactly when every landmark compares the same with both', () => {
  fc.assert(
    fc.property(fc.array(anyNear), anyNear, anyNear, (named, left, right) => {
      const releases = named.map((each) => ({ version: each, requirements: [] }));
      const landmarks = collectLandmarks(releases, undefined);
      const isSame = named.every(
        (each) =>
          Math.sign(compareVersions(each, left)) === Math.sign(compareVersions(each, right)),
      );
      expect(versionPosition(landmarks, left) === versionPosition(landmarks, right)).toBe(isSame);
    }),
  );
});
