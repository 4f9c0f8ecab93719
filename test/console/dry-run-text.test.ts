// Tests a dry run in sentences: its findings, the effect of a change, and what is confirmed before an offer
// to many devices.

import { describe, expect, it } from 'vitest';
import { offersText, sureText, waysText } from '../../src/console/format/dry-run-text.ts';
import { findingSentence, findingSentences } from '../../src/console/format/finding-sentence.ts';
import type { RunnerEffect, ServingDryRunAnswer } from '../../src/contract/dry-run.ts';

const FILES = [{ url: 'https://x.example/App%20One.zip' }, {}];
const NONE = { platforms: [], isEstimate: false };

function without(platform: string, arch: string | null, withoutArtifact: number) {
  return { platform, arch, devices: 100, gain: 0, lose: 0, withoutArtifact };
}

describe('a finding as a sentence', () => {
  it.each([
    [
      'version',
      'Is a prerelease, on the channel stable',
      'The version is a prerelease, on the channel stable.',
    ],
    [
      'artifacts.0.signature',
      'Is missing, and others are',
      'The signature of App One.zip is missing, and others are.',
    ],
    [
      'artifacts.0.url',
      'Is a part of a file that was split',
      'App One.zip is a part of a file that was split.',
    ],
    [
      'artifacts.1.url',
      'Is missing: nothing to download',
      'The URL of artifact 2 is missing: nothing to download.',
    ],
    [
      'steps.2.holdMinutes',
      'The hold of 720 minutes is shorter than stuckAfterMinutes (1440), confirmMinutes (90)',
      'Step 3: the hold of 12 hours is shorter than the time of stuck (1 day), the time of two ' +
        'checks (90 minutes).',
    ],
    ['plan.steps.0.holdMinutes', 'The hold of 60 minutes', 'Step 1: the hold of 1 hour.'],
    ['from', 'It is paused on beta', 'It is paused on beta.'],
  ])('%s: %s', (path, message, text) => {
    expect(findingSentence({ path, severity: 'warning', message }, FILES)).toBe(text);
  });
});

describe('platforms without a file', () => {
  const finding = (target: string) => ({
    ...{ path: 'artifacts', severity: 'warning' as const },
    message: `${target} has no file, but 1.0.0 had one`,
  });

  it('say how many devices that leaves where they are, each once', () => {
    const platforms = [without('windows', 'x86_64', 70), without('linux', null, 1)];
    expect(findingSentences([finding('windows/x86_64')], FILES, { ...NONE, platforms })).toEqual([
      {
        severity: 'warning',
        text: 'Windows (x86_64) has no file, but 1.0.0 had one. 70 devices keep their versions.',
      },
      { severity: 'warning', text: 'Linux has no file. 1 device keeps its version.' },
    ]);
  });

  it('stand for all their architectures when none is named', () => {
    const platforms = [without('darwin', 'x86_64', 3), without('darwin', 'aarch64', 4)];
    const [said, ...others] = findingSentences([finding('darwin')], FILES, {
      ...{ platforms, isEstimate: true },
    });
    expect(said?.text).toBe(
      'macOS has no file, but 1.0.0 had one. ≈ 7 devices keep their versions.',
    );
    expect(others).toEqual([]);
  });

  it('are not listed when there is no file at all', () => {
    const platforms = [without('linux', null, 5)];
    expect(findingSentences([], [], { ...NONE, platforms })).toEqual([]);
  });
});

const SAID: ServingDryRunAnswer = {
  release: { version: '2.0.0', rolloutPct: 50 } as ServingDryRunAnswer['release'],
  ...{ findings: [], runners: [] },
  effect: {
    ...{ devices: 40, gain: 0, lose: 0, isEstimate: false, moves: [], platforms: [] },
    examples: { gain: [], lose: [] },
  },
};

type Effect = Partial<ServingDryRunAnswer['effect']>;
const move = (to: string | null, devices: number) => ({ from: '1.0.0', to, devices });

describe('the devices that are offered another release', () => {
  it.each<[effect: Effect, text: string]>([
    [
      { moves: [move('2.0.0', 20)] },
      'At 50\u00a0%, [20 more devices will be offered 2.0.0], of 40 seen in the last 30 days.',
    ],
    [
      { moves: [move('2.0.0', 1), move('1.5.0', 2), move(null, 3)], lose: 3, isEstimate: true },
      'At 50\u00a0%, [≈ 1 more device will be offered 2.0.0, ≈ 2 devices will be offered another ' +
        'release, ≈ 3 devices will no longer be offered an update], of 40 seen in the last 30 days.',
    ],
    [
      {},
      'No device is waiting for it: nothing changes for the 40 devices seen in the last 30 days.[]',
    ],
  ])('%j', (effect, text) => {
    const { before, what, after } = offersText({ ...SAID, effect: { ...SAID.effect, ...effect } });
    expect(`${before}[${what}]${after}`).toBe(text);
  });
});

describe('the devices that run a release', () => {
  const runner = (platform: string, devices: number, to: string | null): RunnerEffect => ({
    ...{ platform, arch: 'aarch64', devices, to, reason: 'rolled-back-without-fallback' },
  });
  const ways = (runners: RunnerEffect[], isEstimate = false) => {
    const effect = { ...SAID.effect, isEstimate };
    const { before, what, after, rows, rest } = waysText({ ...SAID, effect, runners });
    const lines = rows.map(({ from, text, to }) => `${from}${text}${to ?? ''}`);
    return [`${before}[${what}]${after}`, ...lines, ...(rest === null ? [] : [rest])];
  };

  it('go to other releases by platform, or stay', () => {
    const [linux, darwin] = [runner('linux', 12, '3.1.0'), runner('darwin', 5, '3.0.0')];
    expect(ways([linux, { ...darwin, arch: null }, runner('windows', 2, null)])).toEqual([
      '[19 devices run] it. 17 go to another release, 2 stay.',
      'linux/aarch64: 12 → 3.1.0',
      'darwin: 5 → 3.0.0',
      expect.stringMatching(/^windows\/aarch64: 2 stay: no older release/),
    ]);
  });

  it('are summed beyond the eighth row, and estimates say so', () => {
    const runners = Array.from({ length: 10 }, (_, index) => runner(`os${index}`, 1, '1.0.0'));
    const lines = ways(runners, true);
    expect(lines[0]).toBe('≈ [10 devices run] it. ≈ 10 go to another release, ≈ 0 stay.');
    expect(lines.slice(8)).toEqual(['os7/aarch64: ≈ 1 → 1.0.0', 'and ≈ 2 devices more']);
  });

  it('may be none', () => {
    expect(ways([])).toEqual(['No device that was seen in the last 30 days runs 2.0.0.[]']);
  });
});

describe('what is confirmed before an offer to many devices', () => {
  const reaching = (reached: number, devices: number) => ({
    release: { version: '2.0.0' },
    effect: {
      ...{ devices, gain: 0, lose: 0, isEstimate: false, platforms: [] },
      examples: { gain: [], lose: [] },
      moves: [
        { from: null, to: '2.0.0', devices: reached },
        { from: null, to: '1.0.0', devices: 500 },
      ],
    },
  });

  it.each([
    ['half of the fleet', reaching(10, 20), undefined],
    ['1,000 of many', reaching(1000, 5000), undefined],
    ['more than 1,000', reaching(1001, 5000), '1,001 more devices are offered it now'],
    ['more than half', reaching(11, 20), '11 more devices are offered it now'],
    ['the only device', reaching(1, 1), '1 more device is offered it now'],
    ['nobody knows how many', undefined, 'how many devices are offered it is not known'],
  ])('%s', (_, change, what) => {
    const text = what && `I understand: ${what}, and this cannot be taken back.`;
    expect(sureText(change)).toBe(text);
  });
});
