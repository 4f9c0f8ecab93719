// Tests the slices that clients work out (docs/contract.md 28.3 to 28.5): the published vectors, the client
// of the examples, and which releases a slice can be offered.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deviceSlice, hashText, SLICES } from '../../../src/domain/decision/cohort.ts';
import { choose } from '../../../src/domain/decision/decide.ts';
import { readDocument } from '../../docs/document.ts';
import { murmur3 } from '../../support/murmur3.ts';
import { sliceOf } from '../../support/slice-client.ts';
import { anyTargeting, catalog, fields, planOf, release } from '../sample.ts';

const VECTOR = /^\| `(.+)` \| `([0-9a-f]{8})` \| (\d{1,2}) \|$/gm;

describe('the slice of a device', () => {
  const vectors = [...readDocument('docs/contract.md').text.matchAll(VECTOR)];

  it.each(vectors.map(([, id = '', hash = '', slice]) => [id, hash, Number(slice)] as const))(
    'of %s is as published (§28.3)',
    (id, hash, slice) => {
      expect(hashText(id).toString(16).padStart(8, '0')).toBe(hash);
      expect([deviceSlice(hashText(id)), sliceOf(id)]).toEqual([slice, slice]);
    },
  );

  it('has vectors, some of them outside of ASCII', () => {
    expect(vectors.length).toBeGreaterThanOrEqual(10);
    expect(vectors.some(([, id = '']) => Buffer.byteLength(id) > id.length)).toBe(true);
  });

  it('is the same in the service, the example and a second implementation, for 1,000 ids, in each of 100', () => {
    const seen = new Set<number>();
    for (let at = 0; at < 1000; at++) {
      const id = `${hashText(`${at}`).toString(36)}-${'é🚀x'.repeat(at % 4)}${at}`;
      const expected = Math.floor((murmur3(Buffer.from(id), 0) * SLICES) / 2 ** 32);
      expect([deviceSlice(hashText(id)), sliceOf(id)]).toEqual([expected, expected]);
      seen.add(expected);
    }
    expect(seen.size).toBe(SLICES);
  });
});

describe('a slice', () => {
  const slices = Array.from({ length: SLICES }, (_, slice) => ({
    hash: undefined,
    labels: new Map<string, string>(),
    slice,
  }));

  it('is offered a release at n percent when it is below n, whatever the release (§28.4)', () => {
    fc.assert(
      fc.property(fc.nat(100), fc.string(), (rolloutPct, id) => {
        const plan = planOf(catalog([release('1.1.0', { rolloutPct, id })]), fields('1.0.0'));
        const offered = slices.filter((slice) => typeof choose(plan, slice) !== 'string');
        expect(offered.map(({ slice }) => slice)).toEqual(
          slices.slice(0, rolloutPct).map(({ slice }) => slice),
        );
      }),
      { numRuns: 100 },
    );
  });

  it('is offered a targeted release only when no label is asked for (§28.5)', () => {
    const seen = { offered: 0, passedOver: 0 };
    fc.assert(
      fc.property(anyTargeting, (targets) => {
        const asksForLabels =
          Object.keys(targets?.matchLabels ?? {}).length > 0 ||
          (targets?.matchExpressions ?? []).some(({ key }) => !key.startsWith('$'));
        const plan = planOf(catalog([release('1.1.0', { targets })]), fields('1.0.0'));
        const choices = new Set(slices.map((slice) => typeof choose(plan, slice)));
        expect(choices.size).toBe(1);
        const isOffered = choices.has('object');
        if (asksForLabels) expect(isOffered).toBe(false);
        seen[isOffered ? 'offered' : 'passedOver'] += 1;
      }),
      { numRuns: 100 },
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(0);
  });
});
