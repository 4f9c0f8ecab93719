// Tests what Squirrel.Mac, Electron's MSIX updates and Squirrel.Windows are answered (docs/contract.md 21.1 and
// 21.2), held against rules written from their sources.

import { describe, expect, it } from 'vitest';
import type { ReleaseStatus } from '../../src/contract/resource.ts';
import { release } from '../domain/sample.ts';
import { artifacts, DeviceSide, SUMS } from '../support/device-side.ts';
import { at } from '../support/released.ts';

const PATH = '/squirrel/acme/stable';

describe('Squirrel.Mac and MSIX (§21.1)', () => {
  const { sha256, size } = SUMS;
  const zips = [
    ...artifacts('darwin/arm64 Notes.dmg, darwin/arm64 arm.zip, windows Notes.msix'),
    { platform: 'darwin', arch: 'x64', url: at('intel.zip') },
  ];
  const side = new DeviceSide([release('v1.1.0', { artifacts: zips, notes: 'Better.' })]);

  it.each([
    ['darwin-arm64', 'arm.zip', { sha256, size }],
    ['darwin-x64', 'intel.zip', {}],
  ])('%s gets the zip archive, with what the client reads', async (machine, name, sums) => {
    const { text, headers } = await side.ask(`${PATH}/${machine}/1.0.0`);
    expect(headers.get('content-type')).toBe('application/json');
    expect(JSON.parse(text)).toEqual({
      ...{ url: at(name), name: 'v1.1.0', notes: 'Better.', ...sums },
      // A fraction of a second is a date that it cannot read.
      pub_date: '2026-01-02T03:04:05Z',
    });
  });

  it.each([
    ['win32-x64/msix/1.0.0', 'Notes.msix'],
    ['darwin-x64/msix/1.0.0', '204'],
    ['win32-x64/1.0.0', '204'],
    ['linux-x64/1.0.0', '204'],
    ['freebsd-x64/1.0.0', '204'],
    ['darwin-riscv64/1.0.0', '204'],
    ['darwin-arm64/1.1.0', '204'],
    ['win32-x64/msix/1.1.0', '204'],
  ])('%s has %s: a platform has the format of its client only', async (address, file) => {
    expect(await side.file(`${PATH}/${address}`)).toBe(file);
  });

  it('a release without an archive is passed over', async () => {
    const releases = ['darwin old.zip', 'darwin new.dmg'].map((text, index) =>
      release(`1.${index}.0`, { artifacts: artifacts(text) }),
    );
    expect(await new DeviceSide(releases).file(`${PATH}/darwin-universal/0.9.0`)).toBe('old.zip');
  });
});

describe('Squirrel.Windows (§21.2)', () => {
  /**
   * `ReleaseEntry.ParseReleaseEntry` of Squirrel.Windows: its expression for a line, and for the version in a
   * name.
   */
  const RELEASE_ENTRY = /^([0-9a-fA-F]{40})\s+(\S+)\s+(\d+)[\r]*$/;
  const PACKAGE_VERSION = /(\d+\.\d+\.\d+(?:-[\w.]+)?)-full\.nupkg$/;
  const nupkg = (version: string) => artifacts(`windows/x64 Notes-${version}-full.nupkg`);
  const lineFor = async (
    version: string,
    statuses: readonly ReleaseStatus[],
    newest = nupkg('1.1.0'),
  ) => {
    const published = [nupkg('1.0.0'), newest];
    const releases = published.map((each, index) =>
      release(`1.${index}.0`, { artifacts: each, status: statuses[index] ?? 'published' }),
    );
    const query = `id=Notes&localVersion=${version}&arch=amd64`;
    const { status, text } = await new DeviceSide(releases).ask(
      `${PATH}/win32-x64/${version}/RELEASES?${query}`,
    );
    expect(status).toBe(200);
    return text;
  };

  it('RELEASES has the line of the package that is offered, its sum in capitals and no fragment', async () => {
    const newest = artifacts('windows Notes-setup.exe, windows/x64 Notes-1.1.0-full.nupkg#x64');
    const line = await lineFor('1.0.0', [], newest);
    expect(line).toBe(`${'AB'.repeat(20)} ${at('Notes-1.1.0-full.nupkg')} 1234\n`);
    const [, , name = ''] = RELEASE_ENTRY.exec(line.trimEnd()) ?? [];
    expect(PACKAGE_VERSION.exec(name)?.[1]).toBe('1.1.0');
  });

  it.each<[version: string, statuses: ReleaseStatus[], line: string]>([
    ['1.1.0', [], 'Notes-1.1.0-full.nupkg'],
    ['1.1.0', ['published', 'paused'], 'Notes-1.1.0-full.nupkg'],
    ['1.1.0', ['published', 'deprecated'], 'Notes-1.1.0-full.nupkg'],
    ['1.1.0', ['published', 'rolled_back'], 'Notes-1.0.0-full.nupkg'],
    ['1.1.0', ['paused', 'rolled_back'], ''],
    ['9.9.9', [], ''],
  ])(
    'a device on %s, where the releases are %j, gets the line of its own version unless it was rolled back: %s',
    async (version, statuses, name) => {
      const line = await lineFor(version, statuses);
      if (name === '') expect(line).toBe('');
      else expect(line).toContain(name);
    },
  );

  it.each(['sha1', 'size', 'url'] as const)(
    'a package without %s is passed over',
    async (field) => {
      const { [field]: _, ...lacking } = nupkg('1.1.0')[0] ?? { platform: '' };
      const name = 'Notes-1.0.0-full.nupkg';
      expect(await lineFor('0.9.0', [], [{ ...lacking, format: 'nupkg' }])).toContain(name);
      expect(await lineFor('1.1.0', [], [{ ...lacking, format: 'nupkg' }])).toBe('');
    },
  );
});
