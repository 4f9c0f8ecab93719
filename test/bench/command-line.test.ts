// Tests the arguments of `npm run bench --`: what each runs, what is refused in one line, and the help; and
// that `check --target` puts load only on a service that the caller owns.

import { describe, expect, it } from 'vitest';
import type { Benchmark, Given } from '../../bench/benchmark.ts';
import { createCommand } from '../../bench/command-line.ts';
import { check, scenariosOf } from '../../bench/suite/check.ts';
import { compare } from '../../bench/suite/compare.ts';
import { ddi } from '../../bench/suite/ddi.ts';
import { fleet, fleetSettings } from '../../bench/suite/fleet.ts';
import { isLoopback, targetLoad } from '../../bench/suite/load-target.ts';
import { wave } from '../../bench/suite/wave.ts';

/** Returns what a command line runs, and what it prints; throws what the command throws. */
function read(...args: string[]) {
  const seen = { names: [] as string[], given: {} as Given, json: '', output: '' };
  const run = async (list: readonly Benchmark[], given: Given, json?: string) => {
    Object.assign(seen, { names: list.map(({ name }) => name), given, json });
  };
  const command = createCommand([check, compare, fleet, wave], run);
  const writeOut = (text: string) => {
    seen.output += text;
  };
  for (const each of [command, ...command.commands]) {
    each.configureOutput({ writeOut, writeErr: () => undefined });
  }
  try {
    command.parse(args, { from: 'user' });
  } catch (error) {
    if ((error as { exitCode?: number }).exitCode !== 0) throw error;
  }
  return seen;
}

describe('the command line of the benchmarks', () => {
  it('runs all of them that need no other commit without a name, and one by its name', () => {
    expect(read().names).toEqual(['check', 'fleet', 'wave']);
    const { names, given, json } = read('wave', '--smoke', '--json', 'out.json');
    expect([names, given.isSmoke, json]).toEqual([['wave'], true, 'out.json']);
    const compared = read('compare', 'HEAD', '--edge', '--scenario', 'full').given;
    expect(compared).toMatchObject({ ref: 'HEAD', options: { edge: true, scenario: 'full' } });
    const fleetGiven = read('fleet', '--devices', '5000', '--speed', '20').given;
    expect(fleetSettings(fleetGiven)).toMatchObject({ devices: 5000, speed: 20, duration: 60 });
    expect(() => fleetSettings({ ...fleetGiven, isSmoke: true })).toThrow('a fleet of its own');
  });

  it.each([
    [['nonsense'], 'no benchmark nonsense: there are check, compare, fleet, wave'],
    [['check', 'wave'], 'too many arguments'],
    [['--nonsense'], "unknown option '--nonsense'"],
    [['wave', '--speed', '20'], "unknown option '--speed'"],
    [['compare'], "missing required argument 'ref'"],
    [['fleet', '--speed', '101'], 'It must be a whole number from 10 to 100.'],
    [['check', '--rate', '1e2'], 'It must be a whole number from 1 to 100000.'],
  ])('refuses %j', (args, reason) => {
    expect(() => read(...args)).toThrow(reason);
  });

  it('prints what there is with a line each, and the options, of all and of one', () => {
    const { names, output } = read('--help');
    expect(names).toEqual([]);
    for (const { name, title } of [check, compare, fleet, wave]) {
      expect(output).toMatch(new RegExp(`^ +${name} .*${title.slice(0, 20)}`, 'm'));
    }
    expect(output).toContain('--yes-i-own-this');
    expect(read('fleet', '--help').output).toMatch(/--speed <n>.*10 to 100.*--smoke/s);
  });

  it('picks scenarios by how their names begin, and names those that there are', () => {
    const named = (scenario: string) => scenariosOf({ isSmoke: true, options: { scenario } }, []);
    expect(named('20').map(({ name }) => name)).toEqual(['20 % rollout']);
    expect(() => named('nonsense')).toThrow(/begins with "nonsense": there are full rollout, /);
  });

  it('refuses a part of ddi that there is not, with those that there are', async () => {
    const given = { isSmoke: true, options: { part: 'nonsense' } };
    await expect(ddi.run(given)).rejects.toThrow(/no part "nonsense": there are price, statements/);
  });
});

describe('check --target', () => {
  const target = 'http://127.0.0.1:8080/u/a/stable/darwin/aarch64/1.0.0';

  it('takes a loopback address as it is, with labels in the query', () => {
    const { given } = read('check', '--target', target, '--rate', '500', '--label', 'a=b c', 'd==');
    const path = '/u/a/stable/darwin/aarch64/1.0.0?l.a=b+c&l.d=%3D';
    expect(targetLoad(given)).toMatchObject({
      ...{ host: '127.0.0.1', port: 8080, isTls: false, rate: 500, seconds: 10, connections: 50 },
      question: { paths: [path], devices: 1000 },
    });
  });

  it('refuses any other host unless it is said to be one’s own', () => {
    for (const host of ['example.com', '10.0.0.1', '127.0.0.1.example.com', '[2001:db8::1]']) {
      const options = { target: `https://${host}/u/a` };
      expect(() => targetLoad({ options })).toThrow('--yes-i-own-this');
      expect(targetLoad({ options: { ...options, yesIOwnThis: true } }).isTls).toBe(true);
    }
    for (const host of ['localhost', '127.8.9.1', '[::1]']) expect(isLoopback(host)).toBe(true);
  });

  it.each([
    [{ target, rate: 50_000, duration: 200 }, '--rate, --duration: '],
    [{ target: 'notes' }, '--target: '],
    [{ target: 'ftp://127.0.0.1/u' }, '--target: '],
    [{ target, label: ['=x'] }, '--label: '],
  ])('refuses %j', (options, reason) => {
    expect(() => targetLoad({ options })).toThrow(reason);
  });
});
