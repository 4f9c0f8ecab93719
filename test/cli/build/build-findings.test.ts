// Tests what the names of a build's files tell of its version (docs/operating/commands.md).

import { describe, expect, it } from 'vitest';
import { earlierVersion } from '../../../src/cli/build/build-findings.ts';

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
