// Tests what the names of a build's files tell of its version (docs/operating/commands.md).

import { describe, expect, it } from 'vitest';
import { earlierVersion, versionFindings } from '../../src/cli/build-findings.ts';

describe('a file of an earlier version', () => {
  it.each([
    ['App-1.3.0-full.nupkg', '1.4.0', '1.3.0'],
    ['App-1.4.0-full.nupkg', '1.4.0', undefined],
    ['App-1.3.0-full.nupkg', 'v1.4', '1.3.0'],
    ['App-1.3.0-other.zip', '1.4.0', undefined],
    ['App-1.4.0-java-17.0.9.zip', '1.4.0', undefined],
    ['App.zip', '1.4.0', undefined],
  ])('%s in a release of %s: %s (Command line)', (name, version, told) => {
    const names = new Set([name, 'App-1.4.0-full.nupkg']);
    expect(earlierVersion(name, version, names)).toBe(told);
  });
});

describe('a version that no name tells', () => {
  it.each<[string, readonly string[], string?]>([
    ['1.5.0', ['a-1.4.0.zip', 'b.zip'], 'they tell 1.4.0 (a-1.4.0.zip)'],
    ['1.5.0', ['a-1.4.0.zip', 'b-1.5.0.zip']],
    ['1.5.0', ['a.zip', 'ubuntu-22.04.deb', 'a-10.0.19041.1.2.zip']],
    ['1.5.0-beta.2', ['a-1.5.0-beta2.nupkg']],
    ['1.5', ['a-1.5.0.zip']],
    ['1.5.0.7', ['a-1.5.0.zip']],
    ['2026.1.5', ['a-2026.01.05.zip']],
  ])('%s beside %j: %s (Command line)', (version, names, words) => {
    const [finding] = versionFindings(names, version);
    expect(finding?.message).toEqual(
      words === undefined ? undefined : expect.stringContaining(words),
    );
  });
});
