// Tests that no client is offered a package which holds only what changed since another version, however its
// address is written (docs/contract.md 13.16). That releases of code hosts come without them is tested in
// test/domain/release/asset.test.ts.

import { expect, it } from 'vitest';
import { releaseNotesOf } from '../../src/http/notes/feed-formats.ts';
import { release, snapshot } from '../domain/sample.ts';
import { DeviceSide, serving } from '../support/device-side.ts';
import { artifacts } from '../support/released.ts';

/** Addresses of clients on Windows that a package is for. */
const ASKED = [
  ...['/squirrel/acme/stable/win32-x64/1.0.0/RELEASES', '/u/acme/stable/windows/x64/1.0.0'],
  ...['/velopack/acme/stable/releases.win.json', '/u/acme/stable/windows/x64/1.0.0?bundle=nupkg'],
  '/download/acme/stable/windows',
];
/** Addresses at which a package is nothing that the client installs. */
const OTHERS = ['/e/acme/stable/latest.yml', '/sparkle/acme/stable/appcast-windows.xml'];
const FULL = artifacts('windows/x64 Notes-full.nupkg');

it.each([
  ...['Notes-1.1.0-delta.nupkg', 'Notes-1.1.0-DELTA.NuPkg', 'Notes-1.1.0-win-x64-delta.nupkg'],
  ...['Notes-1.1.0-delta.nupkg?token=x', 'Notes-1.1.0-delta.nupkg#x64'],
  ...['Notes-1.1.0%2Ddelta%2enupkg', 'Notes-1.1.0-d%65lta.nupkg'],
  ...['Notes-1.1.0-delta.nupkg/download', 'Notes-1.1.0-delta.nupkg/'],
])(
  '%s is offered to no client, beside a full one and alone, whatever its format (§13.16)',
  async (name) => {
    const delta = (format?: string) => artifacts(`windows/x64 ${name}`, format ? { format } : {});
    const alone = [undefined, 'zip'].map(delta);
    for (const newest of [[...delta(), ...FULL], ...alone]) {
      const older = release('1.0.5', { artifacts: FULL });
      const releases = [older, release('1.1.0', { artifacts: newest })];
      const side = new DeviceSide(releases);
      for (const address of ASKED) expect(await side.file(address)).toBe('Notes-full.nupkg');
      for (const address of OTHERS) expect(await side.file(address)).toMatch(/^(?:404|200)$/);
      const inFeed = releaseNotesOf(snapshot(releases)).releases.flatMap((each) => each.artifacts);
      expect(new Set(inFeed.map(({ url }) => url))).toEqual(new Set([FULL[0]?.url]));
    }
  },
);

it.each([
  ['darwin a-1.0.0.delta, darwin a.dmg', {}, '', 'a.dmg'],
  ['darwin a-1.0.0.delta', {}, '', '204'],
  ['darwin a-1.0.0.delta', { format: 'delta' }, '?bundle=delta', 'a-1.0.0.delta'],
])(
  'a delta of Sparkle is offered only with a format of its publisher: %s, %j%s: %s (§13.16)',
  async (text, format, query, file) => {
    const side = serving({ '1.1.0': ['', { artifacts: artifacts(text, format) }] });
    expect(await side.file(`/u/acme/stable/darwin/arm64/1.0.0${query}`)).toBe(file);
  },
);
