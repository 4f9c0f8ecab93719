// Tests the arguments of `npm run bench --`: what each runs, and what is refused in one line.

import { describe, expect, it } from 'vitest';
import { readCommand } from '../../bench/command-line.ts';

const CHOICES = {
  benchmarks: ['check', 'fleet', 'wave'],
  scenarios: ['full rollout', '20 % rollout', 'version flood'],
};
const read = (...args: string[]) => readCommand(args, CHOICES);

describe('the command line of the benchmarks', () => {
  it('runs all of them without a name, and one by its name', () => {
    expect(read()).toEqual({ benchmarks: CHOICES.benchmarks, isSmoke: false, scenario: '' });
    expect(read('wave', '--smoke', '--json', 'out.json')).toEqual({
      benchmarks: ['wave'],
      isSmoke: true,
      scenario: '',
      json: 'out.json',
    });
  });

  it('picks scenarios by how their names begin', () => {
    expect(read('check', '--scenario', 'full')).toMatchObject({ scenario: 'full' });
    expect(read('--scenario', '20')).toMatchObject({ scenario: '20' });
  });

  it('refuses a scenario that there is not, and names those that there are', () => {
    expect(read('check', '--scenario', 'nonsense')).toBe(
      'no scenario begins with "nonsense": there are full rollout, 20 % rollout, version flood',
    );
  });

  it('refuses a scenario of a benchmark that has none', () => {
    expect(read('wave', '--scenario', 'full')).toBe('--scenario belongs to check and compare');
  });

  it('refuses a benchmark that there is not, and names those that there are', () => {
    expect(read('nonsense')).toBe(
      'no benchmark nonsense: there are check, fleet, wave, and compare REF',
    );
    expect(read('check', 'wave')).toBe('one benchmark at a time, not also wave');
  });

  it('refuses an option that there is not', () => {
    expect(read('--nonsense')).toContain("'--nonsense'");
  });

  it('compares an edge with a commit, and nothing else', () => {
    expect(read('compare', 'HEAD', '--edge')).toMatchObject({ ref: 'HEAD', isOnEdge: true });
    expect(read('wave', '--edge')).toBe('--edge belongs to compare');
    expect(read('--edge')).toBe('--edge belongs to compare');
  });

  it('compares with one other commit', () => {
    expect(read('compare', 'v1.0', '--scenario', 'full', '--smoke')).toEqual({
      benchmarks: [],
      ref: 'v1.0',
      isOnEdge: false,
      isSmoke: true,
      scenario: 'full',
    });
    expect(read('compare')).toBe('compare takes one branch, tag or commit');
    expect(read('compare', 'a', 'b')).toBe('compare takes one branch, tag or commit');
    expect(read('compare', 'a', '--scenario', 'nonsense')).toContain('there are full rollout, ');
  });

  it('loads a target instead of running check, and nothing else', () => {
    const target = ['--target', 'http://127.0.0.1:8080/u/a/stable/linux/x86_64/1.0.0'];
    expect(read('check', ...target, '--rate', '7')).toMatchObject({
      benchmarks: [],
      target: { port: 8080, rate: 7 },
    });
    expect(read('wave', ...target)).toBe('--target belongs to check');
    expect(read('check', '--target', 'notes')).toContain('--target: ');
  });

  it('plays a fleet of the size that is given, and no other benchmark', () => {
    expect(read('fleet')).toEqual({ benchmarks: ['fleet'], isSmoke: false, scenario: '' });
    expect(read('fleet', '--devices', '5000', '--speed', '20')).toMatchObject({
      benchmarks: ['fleet'],
      fleet: { devices: 5000, speed: 20, seconds: 60 },
    });
    expect(read('fleet', '--speed', '1')).toContain('--speed: must be');
    expect(read('wave', '--speed', '20')).toBe('--speed belongs to fleet');
    expect(read('fleet', '--speed', '20', '--smoke')).toBe('--smoke has a fleet of its own');
  });
});
