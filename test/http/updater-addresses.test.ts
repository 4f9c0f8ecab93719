// Tests the addresses of updaters: the part before the version is parsed once and remembered, which must not
// change any outcome.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isFailure } from '../../src/contract/failure.ts';
import type { Candidate } from '../../src/domain/decision/catalog.ts';
import { UpdaterAddresses } from '../../src/http/device/updater-route.ts';
import { ELECTRON } from '../../src/updater/electron.ts';
import { MANIFEST } from '../../src/updater/manifest.ts';
import { SILENT_CLIENT } from '../domain/sample.ts';

type Addresses = Pick<UpdaterAddresses<Candidate, string>, 'read'>;

/** Returns the outcome of a parse, without the parts that only a catalog fills in. */
function outcomeOf(addresses: Addresses, path: string): unknown {
  const outcome = addresses.read(path, SILENT_CLIENT);
  if (isFailure(outcome)) return outcome;
  const { app, channel, platform, arch } = outcome.scope;
  return { app, channel, platform, arch, version: outcome.version };
}

describe('an address', () => {
  it('is decoded, platform and arch are folded', () => {
    const addresses = new UpdaterAddresses(MANIFEST);
    for (let time = 0; time < 3; time++) {
      expect(outcomeOf(addresses, '/u/my%20app/b%2Fc/WIN32/AMD64/v1%2E2')).toMatchObject({
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
    const addresses = new UpdaterAddresses(MANIFEST);
    for (let time = 0; time < 3; time++) expect(outcomeOf(addresses, path)).toMatchObject(failure);
  });

  it('without a version is one of a client that compares versions itself', () => {
    const addresses = new UpdaterAddresses(ELECTRON);
    for (let time = 0; time < 3; time++) {
      expect(outcomeOf(addresses, '/e/my%20app/beta/beta-linux-arm64.yml')).toEqual({
        app: 'my app',
        channel: 'beta',
        platform: 'linux',
        arch: 'aarch64',
        version: undefined,
      });
    }
  });

  it.each([
    ['/e/acme/stable', { failure: 'notFound' }],
    ['/e/acme/stable/', { failure: 'notFound' }],
    ['/e/acme/stable/latest.yml/', { failure: 'notFound' }],
    ['/e/acme/stable/beta.yml', { failure: 'unknownFile' }],
    ['/e/acme/stable/1.0.0', { failure: 'unknownFile' }],
    ['/e/acme/stable/%', { message: expect.stringMatching(/^file: /) }],
  ])('%s is refused, however often it comes', (path, failure) => {
    const addresses = new UpdaterAddresses(ELECTRON);
    for (let time = 0; time < 3; time++) expect(outcomeOf(addresses, path)).toMatchObject(failure);
  });

  it('means the same whatever was asked before', () => {
    const segments = ['a', 'b', '%41', '', 'linux', 'X64', '%', '%2F', 'é'.repeat(150)];
    const segment = fc.constantFrom(...segments);
    const version = fc.constantFrom('1.0.0', '2', 'v1%2E0', '', 'one', '%');
    const path = fc
      .tuple(fc.array(segment, { minLength: 3, maxLength: 5 }), version)
      .map(([before, last]) => `/u/${[...before, last].join('/')}`);
    fc.assert(
      fc.property(fc.array(path, { minLength: 2, maxLength: 60 }), (asked) => {
        const addresses = new UpdaterAddresses(MANIFEST);
        for (const each of [...asked, ...asked, ...asked]) {
          expect(outcomeOf(addresses, each)).toEqual(
            outcomeOf(new UpdaterAddresses(MANIFEST), each),
          );
        }
      }),
      { numRuns: 100 },
    );
  });
});
