// Tests findings of a dry run in sentences.

import { describe, expect, it } from 'vitest';
import { findingSentence, findingSentences } from '../../src/console/format/finding-sentence.ts';

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
      'artifacts.1.format',
      'Has the platform of App',
      'The URL of artifact 2 has the platform of App.',
    ],
    [
      'steps.2.holdMinutes',
      'The hold of 720 minutes is shorter than stuckAfterMinutes (1440), confirmMinutes (90)',
      'Step 3: the hold of 12 hours is shorter than the time of stuck (1 day), the time of two ' +
        'checks (90 minutes).',
    ],
    ['plan.steps.0.holdMinutes', 'The hold of 60 minutes', 'Step 1: the hold of 1 hour.'],
    [
      'plan.guards',
      'Of 300 devices that are known for long enough 5 % are 15',
      'Of 300 devices that are known for long enough 5 % are 15.',
    ],
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
