// Tests what every updater has in common (docs/contract.md 16.2, 16.3, 19.9 and 21): who asks, whom a release is
// for, and what is refused. Offers, check-ins and limits are tested over HTTP in test/service/updaters.test.ts.

import { describe, expect, it } from 'vitest';
import { release, targeting } from '../domain/sample.ts';
import { artifacts, DeviceSide } from '../support/device-side.ts';

/** Devices that a release `rel-2.0.0` at 50 % is for, and others. */
const INSIDE = ['device-0', 'device-1', 'device-2'];
const OUTSIDE = ['device-3', 'device-5', 'device-7'];
const ALL = (version: string) =>
  artifacts(`linux/x64 ${version}.AppImage, darwin/x64 ${version}.zip, windows/x64 ${version}.nupkg,
    windows/x64 ${version}.msix, windows/x64 ${version}-setup.exe`);

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
  const old = release('1.0.0', { artifacts: ALL('1') });

  it('offers a device in the cohort the release, and others the one before; without an id there is no cohort (§13.7, §16.2)', async () => {
    const side = new DeviceSide([old, release('2.0.0', { artifacts: ALL('2'), rolloutPct: 50 })]);
    for (const id of INSIDE) expect(await side.file(`${address}?device=${id}`)).toBe(`2${ending}`);
    for (const id of OUTSIDE) expect(await side.file(`${address}?device=${id}`)).toBe(`1${ending}`);
    expect(await side.file(address)).toBe(`1${ending}`);
  });

  it('reads labels, and offers nothing where no release is for the device (§16.3, §21.4)', async () => {
    const targets = targeting({ matchLabels: { ring: ['early'] } });
    const side = new DeviceSide([release('1.0.0', { artifacts: ALL('1'), targets })]);
    expect(await side.file(address)).toBe(nothing);
    expect(await side.file(`${address}?noCache=1d2f&l.ring=early`)).toBe(`1${ending}`);
    const { status, text } = await side.ask(`${address}?l.k=${'x'.repeat(257)}`);
    expect([status, text]).toEqual([400, '{"error":"l.k: Must be at most 256 characters"}']);
  });

  it.each(['paused', 'deprecated', 'rolled_back'] as const)(
    'offers none that is %s',
    async (status) => {
      const newer = release('2.0.0', { artifacts: ALL('2'), status });
      expect(await new DeviceSide([old, newer]).file(address)).toBe(`1${ending}`);
    },
  );

  it('names the device by the header, then `device`, then the client’s own name of it (§19.9)', async () => {
    const side = new DeviceSide([old]);
    const header = { 'x-service-device': 'header' };
    const staging = { 'x-user-staging-id': 'own' };
    for (const [query, headers = {}] of [
      ['device=query&stagingId=own', { ...header, ...staging }],
      ['device=query&stagingId=own', staging],
      ['device=&stagingId=own', staging],
      ['device=first&device=gr%C3%B6%C3%9Fe'],
      ...['', 'x'.repeat(129), '%00'].map((id) => [`device=${id}`] as const),
    ] as const) {
      await side.ask(`${address}?${query}`, { headers });
    }
    const hasOwn = /^\/(?:e|velopack)\//.test(address);
    const none = [undefined, undefined, undefined];
    expect(side.checked).toEqual(['header', 'query', hasOwn ? 'own' : undefined, 'größe', ...none]);
  });

  it('answers HEAD as GET without the body (§4)', async () => {
    const side = new DeviceSide([old]);
    const [get, head] = [await side.ask(address), await side.ask(address, { method: 'HEAD' })];
    expect([head.status, head.text]).toEqual([200, '']);
    const length = String(Buffer.byteLength(get.text));
    expect(new Map([...get.headers, ['content-length', length]])).toEqual(head.headers);
  });
});
