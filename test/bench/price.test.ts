// Tests the interval of a price, and which release a tree is compared with. What `price` measures is in
// test/timed/price.test.ts.

import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { priceInterval } from '../../bench/price/price-interval.ts';
import { seededRandom } from '../../bench/random.ts';
import { lastRelease } from '../../bench/suite/price.ts';
import { ownFolder } from '../support/own.ts';

describe('the interval of a price', () => {
  const random = seededRandom(7);
  /** A process with this ratio, whose blocks scatter by 10 %. */
  const blocksOf = (first: 0 | 1, ratio: number) => ({
    first,
    logRatios: Array.from({ length: 101 }, () => Math.log(ratio) + (random() - 0.5) / 5),
  });

  it('takes out which build was loaded first', () => {
    const processes = [1.1, 1.11, 1.09].flatMap((favour) => [
      blocksOf(0, favour),
      blocksOf(1, 1 / favour),
    ]);
    const { ratio, low, high } = priceInterval(processes);
    expect(Math.abs(ratio - 1)).toBeLessThan(0.02);
    expect(high - low).toBeLessThan(0.08);
    expect(low).toBeLessThan(1);
    expect(high).toBeGreaterThan(1);
  });

  it('is as wide as processes differ, however many blocks each has', () => {
    const spread = priceInterval([0.9, 1, 1.1].flatMap((r) => [blocksOf(0, r), blocksOf(1, r)]));
    expect(spread.high - spread.low).toBeGreaterThan(0.12);
  });

  it('holds through a minority of blocks that something else disturbed', () => {
    const disturbed = ([0, 1, 0, 1, 0, 1] as const).map((first) => {
      const { logRatios } = blocksOf(first, 1.2);
      return {
        first,
        logRatios: logRatios.map((each, place) => (place % 5 === 0 ? each + 2 : each)),
      };
    });
    expect(Math.abs(priceInterval(disturbed).ratio - 1.2)).toBeLessThan(0.06);
  });
});

describe('the last release', () => {
  const releaseOf = (changelog: string, ...calls: string[][]) => {
    const root = ownFolder();
    writeFileSync(join(root, 'CHANGELOG.md'), changelog);
    for (const call of calls) {
      const named = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com', ...call];
      expect(spawnSync('git', named, { cwd: root }).status).toBe(0);
    }
    return lastRelease(root);
  };
  const unreleased = '## [Unreleased]\n\n- Refused with the commit `0000000`.\n';

  it('is the newest tag, else the commit that the newest version names, else none', () => {
    const released = '## [0.2.0] - 2026-11-26\n\nTag `v0.2.0`, commit `abcdef01`.\n';
    const before = '## [0.1.0] - 2026-11-26\n\nCommit `ff1a3c7f`.\n';
    expect(releaseOf(unreleased)).toBeUndefined();
    const changelog = [unreleased, released, before].join('\n\n');
    expect(releaseOf(changelog)).toBe('abcdef01');
    const commit = ['commit', '--quiet', '--message', 'A tree'];
    const calls = [['init', '--quiet'], ['add', '.'], commit, ['tag', 'v0.1.0']];
    expect(releaseOf(changelog, ...calls)).toBe('v0.1.0');
  });
});
