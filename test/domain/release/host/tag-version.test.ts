// Tests which version the tag of a release has (docs/contract.md 18.6 and 18.18).

import { describe, expect, it } from 'vitest';
import { tagVersion } from '../../../../src/domain/release/host/tag-version.ts';
import { rowsOf } from '../../../support/rows-of.ts';

describe('the version of a tag (§18.6)', () => {
  it.each(
    rowsOf(`
    1.2.0: 1.2.0 | v1.2.0 | V1.2.0 | app-v1.2.0 | App-V1.2.0 | notes-v1.2.0 | notes@1.2.0 | NOTES@1.2.0
    2.0.0-rc.1: v2.0.0-rc.1
    none: nightly | app@1.2.3 | release-1.2 | other-v1.0.0 | vv1.0.0 | notes-vv1.0.0 | v | app-v
    none: 1.${'0'.repeat(80)} | desk-1.0.0
    `),
  )('%s: %s', (tag, version) => {
    expect(tagVersion(tag, 'notes', undefined)?.text ?? 'none').toBe(version);
  });

  it('is none of an empty tag', () => {
    expect(tagVersion('', 'notes', undefined)).toBeUndefined();
  });

  it.each([
    ['desk-', 'desk-1.0.0', '1.0.0'],
    ['desk-', 'desk-v1.0.1', '1.0.1'],
    ['desk-', 'DESK-1.0.2', '1.0.2'],
    ['release/', 'release/v1.0.3', '1.0.3'],
    ['desk-', 'v1.0.4', '1.0.4'],
    ['desk-', 'notes@1.0.5', '1.0.5'],
    ['desk-', 'server-1.0.0', undefined],
  ])('with the prefix %s: %s (§18.18)', (prefix, tag, version) => {
    expect(tagVersion(tag, 'notes', prefix)?.text).toBe(version);
  });
});
