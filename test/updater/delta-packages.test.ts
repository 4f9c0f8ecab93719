// Tests that no client is offered a package which holds only what changed since another version, however its
// address is written (docs/contract.md 13.16). That releases of code hosts come without them is tested in
// test/domain/release/asset.test.ts.

import { describe, expect, it } from 'vitest';
import type { Artifact } from '../../src/contract/resource.ts';
import { releaseNotesOf } from '../../src/http/notes/feed-formats.ts';
import { release, snapshot } from '../domain/sample.ts';
import { artifacts, DeviceSide } from '../support/device-side.ts';

/** Addresses of clients on Windows that a package is for. */
const ASKED = [
  ...['/squirrel/acme/stable/win32-x64/1.0.0/RELEASES', '/u/acme/stable/windows/x64/1.0.0'],
  ...['/velopack/acme/stable/releases.win.json', '/u/acme/stable/windows/x64/1.0.0?bundle=nupkg'],
  '/download/acme/stable/windows',
];
/** Addresses at which a package is nothing that the client installs. */
const OTHERS = ['/e/acme/stable/latest.yml', '/sparkle/acme/stable/appcast-windows.xml'];

const FULL = artifacts('windows/x64 Notes-full.nupkg');
const DELTAS = [
  ...['Notes-1.1.0-delta.nupkg', 'Notes-1.1.0-DELTA.NuPkg', 'Notes-1.1.0-win-x64-delta.nupkg'],
  ...['Notes-1.1.0-delta.nupkg?token=x', 'Notes-1.1.0-delta.nupkg#x64'],
  ...['Notes-1.1.0%2Ddelta%2enupkg', 'Notes-1.1.0-d%65lta.nupkg'],
  ...['Notes-1.1.0-delta.nupkg/download', 'Notes-1.1.0-delta.nupkg/'],
];

describe.each(DELTAS)('%s (§13.16)', (name) => {
  const delta = (format?: string) => artifacts(`windows/x64 ${name}`, format ? { format } : {});

  it.each<[what: string, newest: readonly Artifact[]]>([
    ['beside the full one', [...delta(), ...FULL]],
    ...[undefined, 'nupkg', 'zip', 'exe'].map((format): [string, Artifact[]] => [
      `alone, as ${format ?? 'no format'}, above a full one`,
      delta(format),
    ]),
  ])('%s is offered to no client', async (_, newest) => {
    const releases = [
      release('1.0.5', { artifacts: FULL }),
      release('1.1.0', { artifacts: newest }),
    ];
    const side = new DeviceSide(releases);
    for (const address of ASKED) expect(await side.file(address)).toBe('Notes-full.nupkg');
    for (const address of OTHERS) expect(await side.file(address)).toMatch(/^(?:404|200)$/);
    const inFeed = releaseNotesOf(snapshot(releases)).releases.flatMap((each) => each.artifacts);
    expect(inFeed.map(({ url }) => url)).not.toContain(delta()[0]?.url);
  });
});

it('a delta of Sparkle is offered to no client, unless its publisher gave it a format', async () => {
  const beside = artifacts('darwin Notes1.1.0-1.0.0.delta, darwin Notes.dmg');
  const [own] = [artifacts('darwin Notes1.1.0-1.0.0.delta', { format: 'delta' })];
  const address = '/u/acme/stable/darwin/arm64/1.0.0';
  const file = (published: readonly Artifact[], query = '') =>
    new DeviceSide([release('1.1.0', { artifacts: published })]).file(address + query);
  expect(await file(beside)).toBe('Notes.dmg');
  expect(await file(own, '?bundle=delta')).toBe('Notes1.1.0-1.0.0.delta');
});
