// Tests the update manifest: the contract's fields, what Tauri's updater accepts, and which file a device
// gets by the kind that it tells (docs/contract.md 2.5, 13.6 and 20).

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isFailure } from '../../src/contract/failure.ts';
import type { Artifact } from '../../src/contract/resource.ts';
import { ANYTHING } from '../../src/domain/decision/artifact/artifact.ts';
import { candidatesFor } from '../../src/domain/decision/catalog.ts';
import {
  MANIFEST,
  type ManifestTerms,
  manifestBytes,
  manifestOf,
  manifestQuestion,
} from '../../src/updater/manifest.ts';
import { ANY_ARCH, catalog, fields, planOf, release, SILENT_CLIENT } from '../domain/sample.ts';
import { DeviceSide, serving } from '../support/device-side.ts';
import { artifacts } from '../support/released.ts';
import { rowsOf } from '../support/rows-of.ts';
import { tauriRefusals } from '../support/tauri.ts';

const TERMS: ManifestTerms = {
  updateMode: 'optional',
  minimumSupportedVersion: null,
  allowDowngrade: false,
};
const BARE: Artifact = { platform: 'linux' };
const FULL: Artifact = {
  platform: 'linux',
  arch: 'x86_64',
  url: 'https://dl.example.com/acme_2.0.0.AppImage?a=1&b=2',
  sha512: 'uQ3zOCq+/Ag==',
  size: 12_345_678,
  signature: 'dW50cnVzdGVkIGNvbW1lbnQ6IA==\n',
};

/** Returns the manifest as a client reads it, through JSON, which drops undefined fields. */
function read(
  parts: Parameters<typeof release>[1] = {},
  artifact: Artifact = FULL,
  terms: Partial<ManifestTerms> = {},
): Record<string, unknown> {
  const bytes = manifestBytes(release('2.0.0', parts), artifact, { ...TERMS, ...terms });
  return JSON.parse(bytes.toString('utf8')) as Record<string, unknown>;
}

describe('fields', () => {
  it('a full manifest has exactly these (§2.1, §2.5), and the artifact passes through verbatim', () => {
    const terms = { updateMode: 'required', minimumSupportedVersion: '1.5' } as const;
    const untold = { sha256: 'a', sha1: 'b', minimumSystemVersion: '1', buildVersion: '2' };
    const told = { ...FULL, ...untold, format: 'deb' };
    expect(read({ notes: '# 2.0\n- "quotes"' }, told, { ...terms, allowDowngrade: true })).toEqual({
      version: '2.0.0',
      notes: '# 2.0\n- "quotes"',
      pub_date: '2026-01-02T03:04:05.678Z',
      url: FULL.url,
      sha512: FULL.sha512,
      signature: FULL.signature,
      size: FULL.size,
      updateMode: 'required',
      minimumSupportedVersion: '1.5',
      allowDowngrade: true,
    });
  });

  it('what is optional is there only when it says something: absent, not null', () => {
    const bare = ['version', 'notes', 'pub_date', 'updateMode'];
    const state = { rolloutPct: 5, targets: null, offered: true };
    expect(Object.keys(read(state, BARE)).sort()).toEqual(bare.sort());
    const optional = { url: FULL.url, sha512: 'x', signature: 'y', size: 0 };
    for (const [field, value] of Object.entries(optional)) {
      const manifested = read({}, { ...BARE, [field]: value });
      expect(Object.keys(manifested).sort()).toEqual([...bare, field].sort());
      expect(manifested[field]).toBe(value);
    }
    // The version is echoed as it was published.
    expect(read({ version: 'v2.0.0+5' }).version).toBe('v2.0.0+5');
  });
});

describe('manifest bytes', () => {
  const parts = { updateMode: 'recommended', minimumSupportedVersion: '1.5' } as const;
  const built = catalog([release('2.0.0', { notes: 'Grüße 🚀' })], parts);
  const [candidate] = candidatesFor(built, 'linux', 'x86_64');
  if (candidate === undefined) throw new Error('no candidate');

  it.each([
    [false, false, 'recommended'],
    [true, false, 'required'],
    [false, true, 'recommended'],
    [true, true, 'required'],
  ] as const)(
    'required %s, downgrade %s: written once',
    (isRequired, allowDowngrade, updateMode) => {
      const terms = { catalog: built, isRequired, allowDowngrade };
      const bytes = manifestOf(terms, candidate);
      expect(manifestOf(terms, candidate)).toBe(bytes);
      const downgrade = allowDowngrade ? { allowDowngrade: true } : {};
      const said = { notes: 'Grüße 🚀', updateMode, minimumSupportedVersion: '1.5', ...downgrade };
      const url = ANY_ARCH.url;
      const all = { version: '2.0.0', pub_date: '2026-01-02T03:04:05.678Z', url, ...said };
      // JSON in UTF-8, without a byte order mark.
      expect(bytes[0]).toBe('{'.charCodeAt(0));
      expect(JSON.parse(bytes.toString('utf8'))).toEqual(all);
    },
  );
});

describe('what Tauri’s updater accepts', () => {
  it('is offered with a canonical version, and never one of four numbers', () => {
    const versions = ['2026.01.05.1', '2026.01.05', '2.1', '2.0.0'];
    const built = catalog(versions.map((text) => release(text, { artifacts: [FULL] })));
    const offered = (mustBeSigned: boolean) => {
      const installable = { ...ANYTHING, mustBeSigned };
      const question = manifestQuestion('linux', 'x86_64', installable);
      const plan = { catalog: built, isRequired: false, allowDowngrade: false };
      return question
        .candidates(built)
        .map((each) => JSON.parse(manifestOf(plan, each).toString('utf8')).version);
    };
    expect(offered(true)).toEqual(['2026.1.5', '2.1.0', '2.0.0']);
    expect(offered(false)).toEqual(versions);
  });

  const bundles = `
    macos aarch64 Notes_1.0.0_aarch64.dmg | macos aarch64 Notes_aarch64.app.tar.gz.sig
    macos x64 Notes_1.0.0_x64.dmg | macos x64 Notes_x64.app.tar.gz.sig
    windows x64 Notes_1.0.0_x64_en-US.msi | windows x64 Notes_1.0.0_x64-setup.exe.sig
    windows i686 Notes_1.0.0_x86-setup.exe.sig | linux amd64 notes_1.0.0_amd64.deb
    linux amd64 Notes_1.0.0_amd64.AppImage.sig | linux riscv64 Notes_1.0.0_riscv64.AppImage.sig
    darwin-universal - Notes_universal.app.tar.gz.sig
  `;
  it.each([
    ['darwin', 'aarch64', 'Notes_aarch64.app.tar.gz'],
    ['windows', 'x86_64', 'Notes_1.0.0_x64-setup.exe'],
    ['windows', 'aarch64', undefined],
    ['linux', 'x86_64', 'Notes_1.0.0_amd64.AppImage'],
    // A target that the app invented: `{{arch}}` is still the machine's arch.
    ['darwin-universal', 'aarch64', 'Notes_universal.app.tar.gz'],
  ])('of what `tauri build` makes, %s/%s gets the signed file %s', (platform, arch, name) => {
    const artifacts = bundles
      .trim()
      .split(/\s*[|\n]\s*/)
      .map((row): Artifact => {
        const [on = '', suited = '', file = ''] = row.split(' ');
        const url = `https://dl.example.com/${file.replace('.sig', '')}`;
        const machine = suited === '-' ? { platform: on } : { platform: on, arch: suited };
        return { ...machine, url, ...(file.endsWith('.sig') && { signature: 'dW50cnVzdGVk' }) };
      });
    const built = catalog([release('1.0.0', { artifacts })]);
    const question = MANIFEST.ask({ channel: 'stable', platform, arch }, SILENT_CLIENT);
    if (isFailure(question)) throw new Error(question.message);
    const plan = planOf(built, fields('0.9.0', platform, arch));
    const texts = question.candidates(built).map((each) => manifestOf(plan, each).toString('utf8'));
    expect(texts.flatMap((text) => tauriRefusals({ status: 200, text }))).toEqual([]);
    const url = name && `https://dl.example.com/${name}`;
    expect(texts.map((text) => (JSON.parse(text) as Artifact).url)).toEqual(url ? [url] : []);
  });

  it('is read strictly: what it would refuse is refused here', () => {
    const manifested = read({ notes: 'Fixes' });
    const refusals = (change: object) =>
      tauriRefusals({ status: 200, text: JSON.stringify({ ...manifested, ...change }) }).length;
    expect(refusals({})).toBe(0);
    // It fails on a date without an offset, takes `name` for a second `version`, and with `platforms` ignores
    // url and signature.
    for (const change of [
      ...[{ version: '1.2' }, { version: '1.02.0' }, { version: undefined }, { url: '/a' }],
      ...[{ url: undefined }, { signature: '' }, { signature: undefined }, { notes: [] }],
      ...[{ pub_date: '2026-01-02T03:04:05' }, { name: '1.2.0' }, { platforms: {} }],
    ]) {
      expect([change, refusals(change)]).toEqual([change, 1]);
    }
  });

  it('whatever is published with an address and a signature, on whatever terms', () => {
    const version = fc.constantFrom('2.0.0', 'v2.0.0', '2.0.0-rc.1', '2.0.0+5', '0.0.0-0+a.b-c');
    const artifact = fc.record(
      {
        url: fc.webUrl({ withQueryParameters: true, withFragments: true }),
        signature: fc.string({ minLength: 1, unit: 'binary' }),
        platform: fc.string({ minLength: 1 }),
        arch: fc.string({ minLength: 1 }),
        sha512: fc.string({ minLength: 1 }),
        size: fc.maxSafeNat(),
      },
      { requiredKeys: ['url', 'signature', 'platform'] },
    );
    const terms = fc.record({
      updateMode: fc.constantFrom('optional', 'recommended', 'required'),
      minimumSupportedVersion: fc.option(version),
      allowDowngrade: fc.boolean(),
    });
    const notes = fc.string({ unit: 'binary', maxLength: 200 });
    fc.assert(
      fc.property(version, artifact, terms, notes, (text, each, on, said) => {
        const bytes = manifestBytes(release(text, { notes: said }), each, on);
        expect(tauriRefusals({ status: 200, text: bytes.toString('utf8') })).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });
});

describe('what a device tells', () => {
  const path = '/u/acme/stable/linux/x86_64/1.0.0';
  const [TAURI, OTHER] = ['tauri-plugin-updater/2.9.0', 'x tauri-plugin-updater/2.9.0'];

  const side = serving({ '1.1.0': 'linux app.deb, linux app.rpm, linux app.AppImage' });
  it.each(
    rowsOf(`
    app.deb: bundle=deb | bundle=deb&bundle_type=rpm | bundle=rpm&bundle=deb | b%75ndle=%64eb
    app.rpm: bundle=RPM
    app.AppImage: bundle_type=appimage | bundle=appimage.tar.gz
    app.AppImage: bundle | bundle= | bundle=unknown | bundle=%00 | bundle=%FF
    app.AppImage: | bundle={{bundle_type}} | bundle=%7B%7Bbundle_type%7D%7D
    204: bundle=pacman
    `),
  )('?%s gets only its kind: %s (§20.2, §20.3)', async (query, file) => {
    expect(await side.file(`${path}?${query}`)).toBe(file);
  });

  it.each([
    ['published', 'new.deb'],
    ['rolled_back', 'old.deb'],
  ] as const)('from a %s release leads to %s, past other kinds (§20.2)', async (status, file) => {
    const kinds = serving({
      ...{ '0.9.0': 'linux old.deb', '0.9.5': 'linux old.rpm' },
      '1.0.0': ['linux app.deb', { status }],
      ...{ '1.1.0': 'linux new.deb', '1.2.0': 'linux new.rpm' },
    });
    expect(await kinds.file(`${path}?bundle=deb`)).toBe(file);
  });

  const signed = artifacts('linux/x64 b.rpm', { signature: 's' });
  const releases = [
    release('1.1.0', { artifacts: [...artifacts('linux/x64 a.deb'), ...signed] }),
    release('1.2.0', {
      artifacts: [...artifacts('linux/x64 c.AppImage'), { platform: 'linux', signature: 's' }],
    }),
  ];
  const lax = new DeviceSide(releases);
  const strict = new DeviceSide(releases, { requireSignature: true });
  it.each([
    ['', '', false, 'c.AppImage'],
    ['', TAURI, false, 'b.rpm'],
    ['bundle={{bundle_type}}', TAURI, false, 'b.rpm'],
    ['bundle=deb', TAURI, false, '204'],
    ['bundle=deb', '', false, 'a.deb'],
    ['', OTHER, false, 'c.AppImage'],
    ['', '', true, 'b.rpm'],
    ['bundle=deb', '', true, '204'],
  ])(
    '?%s of "%s" is signed for Tauri, or if required (%s): %s (§20.5)',
    async (query, agent, isRequired, file) => {
      const asked = { headers: { 'user-agent': agent } };
      const channel = isRequired ? strict : lax;
      expect(await channel.file(`${path}?${query}`, asked)).toBe(file);
      // Update files are read by other clients.
      expect(await channel.file('/e/acme/stable/latest-linux.yml', asked)).toBe('c.AppImage');
    },
  );
});
