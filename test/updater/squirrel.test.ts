// Tests what Squirrel.Mac, Electron's MSIX updates and Squirrel.Windows are answered (docs/contract.md 21.1
// and 21.2), held against rules written from their sources.

import { describe, expect, it } from 'vitest';
import type { ReleaseStatus } from '../../src/contract/resource.ts';
import { release } from '../domain/sample.ts';
import { DeviceSide, serving } from '../support/device-side.ts';
import { artifacts, at, SUMS } from '../support/released.ts';

const PATH = '/squirrel/acme/stable';

describe('Squirrel.Mac and MSIX (§21.1)', () => {
  const { sha256, size } = SUMS;
  const all = [
    ...artifacts(`darwin/arm64 Notes.dmg, darwin/arm64 arm.zip, windows Notes.msix, linux a.zip,
      darwin a.msix, windows a.zip`),
    { platform: 'darwin', arch: 'x64', url: at('intel.zip') },
  ];
  const side = new DeviceSide([release('v1.1.0', { artifacts: all, notes: 'Better.' })]);

  it.each([
    ['darwin-arm64', 'arm.zip', { sha256, size }],
    ['darwin-x64', 'intel.zip', {}],
  ])('%s gets the zip archive, with what the client reads', async (machine, name, sums) => {
    expect(JSON.parse((await side.ask(`${PATH}/${machine}/1.0.0`)).text)).toEqual({
      ...{ url: at(name), name: 'v1.1.0', notes: 'Better.', ...sums },
      // A fraction of a second is a date that it cannot read.
      pub_date: '2026-01-02T03:04:05Z',
    });
  });

  it.each([
    ['win32-x64/msix/1.0.0', 'Notes.msix'],
    ['darwin-x64/msix/1.0.0', '204'],
    ['win32-x64/1.0.0', '204'],
    ['freebsd-x64/1.0.0', '204'],
    ['darwin-riscv64/1.0.0', '204'],
    ['darwin-arm64/1.1.0', '204'],
  ])('%s has %s: a platform has the format of its client only', async (address, file) => {
    expect(await side.file(`${PATH}/${address}`)).toBe(file);
  });

  it('a release without an archive is passed over', async () => {
    const later = serving({ '1.0.0': 'darwin old.zip', '1.1.0': 'darwin new.dmg' });
    expect(await later.file(`${PATH}/darwin-universal/0.9.0`)).toBe('old.zip');
  });
});

describe('Squirrel.Windows (§21.2)', () => {
  /**
   * `ReleaseEntry.ParseReleaseEntry` of Squirrel.Windows: its expression for a line, and for the version in a
   * name.
   */
  const RELEASE_ENTRY = /^([0-9a-fA-F]{40})\s+(\S+)\s+(\d+)[\r]*$/;
  const PACKAGE_VERSION = /(\d+\.\d+\.\d+(?:-[\w.]+)?)-full\.nupkg$/;
  const own = (version: string) =>
    `${PATH}/win32-x64/${version}/RELEASES?id=Notes&localVersion=${version}&arch=amd64`;

  it('RELEASES has the line of the package that is offered, its sum in capitals and no fragment', async () => {
    const newest = 'windows Notes-setup.exe, windows/x64 Notes-1.1.0-full.nupkg#x64';
    const side = serving({ '1.0.0': 'windows/x64 Notes-1.0.0-full.nupkg', '1.1.0': newest });
    const { text } = await side.ask(own('1.0.0'));
    expect(text).toBe(`${'AB'.repeat(20)} ${at('Notes-1.1.0-full.nupkg')} 1234\n`);
    const [, , name = ''] = RELEASE_ENTRY.exec(text.trimEnd()) ?? [];
    expect(PACKAGE_VERSION.exec(name)?.[1]).toBe('1.1.0');
  });

  it.each<[version: string, older: ReleaseStatus, newer: ReleaseStatus, file: string]>([
    ['1.1.0', 'published', 'published', '2.nupkg'],
    ['1.1.0', 'published', 'paused', '2.nupkg'],
    ['1.1.0', 'published', 'rolled_back', '1.nupkg'],
    ['1.1.0', 'paused', 'rolled_back', '200'],
    ['9.9.9', 'published', 'published', '200'],
  ])('%s, of a %s and a %s release, has a line: %s', async (version, older, newer, file) => {
    const side = serving({
      '1.0.0': ['windows/x64 1.nupkg', { status: older }],
      '1.1.0': ['windows/x64 2.nupkg', { status: newer }],
    });
    expect(await side.file(own(version))).toBe(file);
    if (file === '200') expect((await side.ask(own(version))).text).toBe('');
  });

  it.each(['sha1', 'size', 'url'] as const)(
    'a package without %s is passed over',
    async (field) => {
      const whole = { platform: 'windows', url: at('2.nupkg'), format: 'nupkg', ...SUMS };
      const { [field]: _, ...lacking } = whole;
      const before = release('1.0.0', { artifacts: artifacts('windows/x64 1.nupkg') });
      const side = new DeviceSide([before, release('1.1.0', { artifacts: [lacking] })]);
      expect(await side.file(own('0.9.0'))).toBe('1.nupkg');
      expect((await side.ask(own('1.1.0'))).text).toBe('');
    },
  );
});
