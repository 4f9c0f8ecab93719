// Tests the addresses of the console: whatever the name of a thing is, its address leads to it and to nothing
// else.

import fc from 'fast-check';
import { exec } from 'preact-iso/router';
import { expect, it } from 'vitest';
import { consolePath, isReadablePath, mountOf } from '../../src/console/format/console-path.ts';
import { readSegment } from '../../src/contract/text.ts';

/** Returns an address as a browser normalises it. */
function browsed(path: string): string {
  return new URL(path, 'http://console.test').pathname;
}

it('a device is found under its address, whatever its id', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 128 }), (deviceId) => {
      const path = browsed(consolePath.device('notes', deviceId));
      const found = exec(path, '/console/apps/:app/devices/:device');
      expect(readSegment(String(found?.params.device))).toBe(deviceId);
    }),
    { examples: [['.'], ['..'], ['~'], ['~..'], ['a/b'], ['%2e%2e'], ['fleet'], ['?#&']] },
  );
});

it.each(['fleet', 'devices'])('a channel called %s is no page of that name', (channel) => {
  const path = browsed(consolePath.channel('notes', channel));
  expect(path).not.toBe(`/console/apps/notes/${channel}`);
  expect(readSegment(String(exec(path, '/console/apps/:app/:channel')?.params.channel))).toBe(
    channel,
  );
});

it('ordinary names stand in addresses as they are', () => {
  const path = '/console/apps/notes/stable/1.2.0-rc.1';
  expect(consolePath.release('notes', 'stable', '1.2.0-rc.1')).toBe(path);
});

it('an address that cannot be decoded is known before the router stumbles over it', () => {
  expect(isReadablePath('/console/apps/%zz')).toBe(false);
  expect(isReadablePath('/console/apps/%C3%A9')).toBe(true);
});

it.each([
  ['https://ops.example.com/console/assets/index-a.js', ''],
  ['https://example.com/updates/console/assets/index-a.js', '/updates'],
  ['https://example.com/a/console/assets/console/assets/index-a.js', '/a/console/assets'],
  ['file:///srv/sluice/src/console/format/console-path.ts', ''],
])('a script at %s belongs to a service below "%s"', (script, mount) => {
  expect(mountOf(script)).toBe(mount);
});
