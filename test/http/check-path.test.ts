// Addresses of update checks: what stands before the version is read once, which must not show.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isFailure } from '../../src/contract/failure.ts';
import { CheckPaths } from '../../src/http/device/check-path.ts';

/** What a parse comes to, without what only a catalog fills in. */
function outcomeOf(paths: CheckPaths, path: string): unknown {
  const outcome = paths.parse(path);
  if (isFailure(outcome)) return outcome;
  const { app, channel, platform, arch } = outcome.origin;
  return { app, channel, platform, arch, version: outcome.version };
}

describe('an address', () => {
  it('is decoded, platform and arch are folded', () => {
    const paths = new CheckPaths();
    for (let time = 0; time < 3; time++) {
      expect(outcomeOf(paths, '/u/my%20app/b%2Fc/WIN32/AMD64/v1%2E2')).toMatchObject({
        app: 'my app',
        channel: 'b/c',
        platform: 'windows',
        arch: 'x86_64',
        version: { canonical: '1.2.0' },
      });
    }
  });

  it.each([
    ['/u/acme/stable/linux/x64', { failure: 'notFound' }],
    ['/u/acme/stable/linux/x64/', { failure: 'notFound' }],
    ['/u/acme/stable/linux/x64/1.0.0/', { failure: 'notFound' }],
    ['/u/acme/stable/linux/x64/1.0.0/more', { failure: 'notFound' }],
    ['/u/acme//linux/x64/1.0.0', { failure: 'notFound' }],
    ['/u', { failure: 'notFound' }],
    ['/u/acme/%ff/linux/x64/1.0.0', { message: expect.stringMatching(/^channel: /) }],
    ['/u/acme/stable/linux/x64/%', { message: expect.stringMatching(/^version: /) }],
    ['/u/acme/stable/linux/x64/one', { message: expect.stringMatching(/^version: /) }],
    ['/u/acme/stable/%00/x64/1.0.0', { message: expect.stringMatching(/^platform: /) }],
    [
      `/u/acme/stable/linux/${'x'.repeat(300)}/1.0.0`,
      { message: expect.stringMatching(/^arch: /) },
    ],
  ])('%s is refused, however often it comes', (path, failure) => {
    const paths = new CheckPaths();
    for (let time = 0; time < 3; time++) expect(outcomeOf(paths, path)).toMatchObject(failure);
  });

  it('means the same whatever was asked before', () => {
    const segment = fc.constantFrom(
      'a',
      'b',
      '%41',
      '',
      'linux',
      'X64',
      '%',
      '%2F',
      'é'.repeat(150),
    );
    const version = fc.constantFrom('1.0.0', '2', 'v1%2E0', '', 'one', '%');
    const path = fc
      .tuple(fc.array(segment, { minLength: 3, maxLength: 5 }), version)
      .map(([before, last]) => `/u/${[...before, last].join('/')}`);
    fc.assert(
      fc.property(fc.array(path, { minLength: 2, maxLength: 60 }), (asked) => {
        const paths = new CheckPaths();
        for (const each of [...asked, ...asked, ...asked]) {
          expect(outcomeOf(paths, each)).toEqual(outcomeOf(new CheckPaths(), each));
        }
      }),
    );
  });
});
