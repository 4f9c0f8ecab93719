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

const LONG = 'x'.repeat(300);

/** Row of a version as an address has it, and as it is read. */
function rowOf(text: string): [path: string, platform: string, arch: string, version: string] {
  const [written = '', canonical = ''] = text.split(' = ');
  return [`linux/x64/${written}`, 'linux', 'x86_64', canonical];
}

/** Row of a version that is none. */
function invalid(text: string): [path: string, refusal: object] {
  return [`/u/acme/stable/linux/x64/${text}`, { message: 'version: Invalid version' }];
}

/** Row of a path without the parts that an address has, or with more. */
function missing(text: string): [path: string, refusal: object] {
  return [`/u/acme/${text}`, { failure: 'notFound' }];
}

describe('an address', () => {
  // A + is a plus, never a space: Tauri sends it as it is.
  it.each([
    ['my%20os%2Fx/a+b/1.0.0%2B4', 'my os/x', 'a+b', '1.0.0+4'],
    ['my%20os%2Fx/a%2Bb/1.0.0+4', 'my os/x', 'a+b', '1.0.0+4'],
    ['my+os%2Fx/a+b/%31.0.0', 'my+os/x', 'a+b', '1.0.0'],
    ['WIN32/AMD64/v1%2E2', 'windows', 'x86_64', '1.2.0'],
    ...['1 = 1.0.0', 'V1 = 1.0.0', '01.00 = 1.0.0', '1.0.0.9 = 1.0.0.9', '0 = 0.0.0'].map(rowOf),
    ...['1.0.0-0.a-b.7 = 1.0.0-0.a-b.7', '1.0.0%2Brc = 1.0.0+rc'].map(rowOf),
  ])('…/%s is read as %s, %s and %s (§4.7, §10.1)', (path, platform, arch, text) => {
    const addresses = new UpdaterAddresses(MANIFEST);
    for (let time = 0; time < 3; time++) {
      expect(outcomeOf(addresses, `/u/my%20app/b%2Fc/${path}`)).toMatchObject({
        ...{ app: 'my app', channel: 'b/c', platform, arch, version: { canonical: text } },
      });
    }
  });

  const encoding = (field: string) => ({ message: `${field}: Malformed percent-encoding` });
  const named = (field: string) => ({ message: expect.stringMatching(`^${field}: `) });
  it.each([
    ...['abc', '1.', '1..2', '1.2.3.4.5', '1.0.0-', '1.0.0%20', '1.0.0%205', '1.0.0%0A'].map(
      invalid,
    ),
    ...['1.0.0%00', 'vv1.0.0', '1.0.0-%C3%A9', '%D9%A1.0.0', '*', `1.0.0-${LONG}`].map(invalid),
    ['/u/%FF/stable/linux/x64/1.0.0', encoding('appRef')],
    ['/u/acme/%zz/linux/x64/1.0.0', encoding('channel')],
    ['/u/acme/stable/%E0%80/x64/1.0.0', encoding('platform')],
    ['/u/acme/stable/linux/%1/1.0.0', encoding('arch')],
    ['/u/acme/stable/linux/x64/1.0.0%', encoding('version')],
    ...['stable/linux/x64', 'stable/linux/x64/', 'stable/linux/x64/1.0.0/'].map(missing),
    ...['stable/linux/x64/1.0.0/more', '/linux/x64/1.0.0'].map(missing),
    ['/u', { failure: 'notFound' }],
    ['/u/acme/stable/%00/x64/1.0.0', named('platform')],
    [`/u/acme/stable/linux/${LONG}/1.0.0`, named('arch')],
    ['/e/acme/stable', { failure: 'notFound' }],
    ['/e/acme/stable/', { failure: 'notFound' }],
    ['/e/acme/stable/latest.yml/', { failure: 'notFound' }],
    ['/e/acme/stable/beta.yml', { failure: 'unknownFile' }],
    ['/e/acme/stable/1.0.0', { failure: 'unknownFile' }],
    ['/e/acme/stable/%', named('file')],
  ])('%s is refused, however often it comes', (path, failure) => {
    const addresses = new UpdaterAddresses<never, string>(
      (path.startsWith('/e') ? ELECTRON : MANIFEST) as never,
    );
    for (let time = 0; time < 3; time++) expect(outcomeOf(addresses, path)).toMatchObject(failure);
  });

  it('without a version is one of a client that compares versions itself', () => {
    const addresses = new UpdaterAddresses(ELECTRON);
    for (let time = 0; time < 3; time++) {
      expect(outcomeOf(addresses, '/e/my%20app/beta/beta-linux-arm64.yml')).toEqual({
        ...{ app: 'my app', channel: 'beta', platform: 'linux', arch: 'aarch64' },
        version: undefined,
      });
    }
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
          const fresh = outcomeOf(new UpdaterAddresses(MANIFEST), each);
          expect(outcomeOf(addresses, each)).toEqual(fresh);
        }
      }),
      { numRuns: 100 },
    );
  });
});
