// Tests what every updater has in common (docs/contract.md 13.7, 16.2, 16.3, 19.9 and 21.4): who asks, and
// whom a release is for. Offers, check-ins and limits are tested over HTTP in test/service/updaters.test.ts.

import { describe, expect, it } from 'vitest';
import { targeting } from '../domain/sample.ts';
import { serving } from '../support/device-side.ts';

/** Devices that a release `rel-2.0.0` at 50 % is for, and others. */
const INSIDE = ['device-0', 'device-1', 'device-2'];
const OUTSIDE = ['device-3', 'device-5', 'device-7'];
const [OLD, NEW] = ['1', '2'].map((name) =>
  ['linux/x64 @.AppImage', 'darwin/x64 @.zip', 'windows/x64 @.nupkg', 'windows/x64 @.msix']
    .concat('windows/x64 @-setup.exe')
    .join(', ')
    .replaceAll('@', name),
) as [string, string];

/** Addresses, each with the ending of the file that it leads to, and the answer where nothing is offered. */
const ADDRESSES = [
  ['/u/acme/stable/linux/x64/0.9.0', '.AppImage', '204'],
  ['/e/acme/stable/latest-linux.yml', '.AppImage', '404'],
  ['/e/acme/stable/x64/latest.yml', '-setup.exe', '404'],
  ['/squirrel/acme/stable/darwin-x64/0.9.0', '.zip', '204'],
  ['/squirrel/acme/stable/win32-x64/msix/0.9.0', '.msix', '204'],
  ['/squirrel/acme/stable/win32-x64/0.9.0/RELEASES', '.nupkg', '200'],
  ['/velopack/acme/stable/releases.win.json', '.nupkg', '200'],
  ['/sparkle/acme/stable/appcast.xml', '.zip', '200'],
  ['/sparkle/acme/stable/appcast-windows.xml', '-setup.exe', '200'],
] as const;

describe.each(ADDRESSES)('%s', (address, ending, nothing) => {
  it('offers a device in the cohort the release, and others the one before, as without an id (§13.7, §16.2)', async () => {
    const side = serving({ '1.0.0': OLD, '2.0.0': [NEW, { rolloutPct: 50 }] });
    const file = (id: string) => side.file(`${address}?device=${id}`);
    for (const id of INSIDE) expect(await file(id)).toBe(`2${ending}`);
    for (const id of [...OUTSIDE, '']) expect(await file(id)).toBe(`1${ending}`);
  });

  it('reads labels, and offers nothing where no release is for the device (§16.3, §21.4)', async () => {
    const targets = targeting({ matchLabels: { ring: ['early'] } });
    // A paused release is for nobody.
    const side = serving({ '1.0.0': [OLD, { targets }], '2.0.0': [NEW, { status: 'paused' }] });
    expect(await side.file(address)).toBe(nothing);
    expect(await side.file(`${address}?noCache=1d2f&l.ring=early`)).toBe(`1${ending}`);
    const { status, text } = await side.ask(`${address}?l.k=${'x'.repeat(257)}`);
    expect([status, text]).toEqual([400, '{"error":"l.k: Must be at most 256 characters"}']);
  });

  it('names the device by the header, then `device`, then the client’s own name of it (§19.9)', async () => {
    const side = serving({ '1.0.0': OLD });
    const staging = { 'x-user-staging-id': 'own' };
    for (const [query, headers = {}] of [
      ['device=query&stagingId=own', { 'x-service-device': 'header', ...staging }],
      ['device=query&stagingId=own', staging],
      ['device=&stagingId=own', staging],
      ['device=first&device=gr%C3%B6%C3%9Fe'],
      ...['', 'x'.repeat(129), '%00'].map((id) => [`device=${id}`] as const),
      ['', { 'x-service-device': '', 'x-user-staging-id': 'x'.repeat(129) }],
    ] as const) {
      await side.ask(`${address}?${query}`, { headers });
    }
    const own = /^\/(?:e|velopack)\//.test(address) ? 'own' : undefined;
    const none = Array.from({ length: 4 }, () => undefined);
    expect(side.checked).toEqual(['header', 'query', own, 'größe', ...none]);
  });

  it('answers HEAD as GET without the body (§4)', async () => {
    const side = serving({ '1.0.0': OLD });
    const [get, head] = [await side.ask(address), await side.ask(address, { method: 'HEAD' })];
    expect([head.status, head.text]).toEqual([200, '']);
    const length = String(Buffer.byteLength(get.text));
    expect(new Map([...get.headers, ['content-length', length]])).toEqual(head.headers);
  });
});
