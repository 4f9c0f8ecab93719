// Tests which texts are no device's own id (docs/contract.md 19.10), and that no id of a device is taken for
// one.

import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { MISTAKEN_IDS } from '../../../src/contract/ref.ts';
import { mistakenIdIn } from '../../../src/domain/fleet/mistaken-id.ts';

const ZERO = '00000000-0000-0000-0000-000000000000';
const SHARED = [
  ...'undefined null (null) <null> nil <nil> none None NaN true False unknown UNKNOWN 0'.split(' '),
  ...[ZERO, `{${ZERO}}`, ZERO.replaceAll('-', ''), ZERO.replaceAll('0', 'f'), '%!s(<nil>)'],
  ...[ZERO.replaceAll('0', 'F'), '[object Object]', '[object Promise]', '{{ device.id }}'],
  ...`{{device}} $${'{DEVICE_ID}'} $(uuidgen) #{device} %DEVICE_ID% <device-id> {device_id}`.split(
    ' ',
  ),
  ...['<%= device %>', 'To Be Filled By O.E.M.', '02:00:00:00:00:00'],
];
const OWN = [
  ...'1 00 01 007 kiosk-0 none-1 nulls undefined-1 truely nano NaN0 f ff ffffffff 00000001'.split(
    ' ',
  ),
  ...'[1] {1} $1 100% % < <> {} [object] a.b ... 日本 undefinéd nil! device test'.split(' '),
  ...[
    'Unknown PC',
    '{3f2504e0-4f89-11d3-9a0c-0305e82c3301}',
    'ffffffff-ffff-4fff-bfff-ffffffffffff',
  ],
  '00000000-0000-0000-0000-000000000001',
];

describe('a text that many devices send as their id', () => {
  it.each(SHARED)('%j is no id', (text) => {
    expect(MISTAKEN_IDS).toContain(mistakenIdIn(text));
    expect(mistakenIdIn(text.toUpperCase().replace('%!S', '%!s'))).toBe(mistakenIdIn(text));
  });

  it.each(OWN)('%j is one', (text) => {
    expect(mistakenIdIn(text)).toBeUndefined();
  });

  it('no id that a program makes at random is one of them', () => {
    const ids = Array.from({ length: 2000 }, () => randomUUID()).flatMap((id) => [
      ...[id, id.toUpperCase(), `{${id}}`, id.replaceAll('-', '')],
      ...[randomBytes(8).toString('hex'), randomBytes(16).toString('base64url')],
    ]);
    expect(ids.filter((id) => mistakenIdIn(id) !== undefined)).toEqual([]);
  });
});
