// Tests fields of bodies. In names that people read, characters that turn the direction of a text, and so
// make names look like others, are refused, each of them and no letter; a time is one that databases take.

import { expect, it } from 'vitest';
import { isFailure } from '../../src/contract/failure.ts';
import {
  labelsField,
  newEmailField,
  timeField,
  titleField,
} from '../../src/http/endpoint/field.ts';
import { planWaveBody } from '../../src/http/endpoint/fleet-body.ts';
import { parseShape } from '../../src/http/endpoint/parse-shape.ts';

const TURNING = [0x061c, 0x200e, 0x200f, ...range(0x202a, 0x202e), ...range(0x2066, 0x2069)];

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

function errorOf(shape: typeof titleField | typeof newEmailField, text: string) {
  const parsed = parseShape(shape, text);
  return isFailure(parsed) ? parsed.message : undefined;
}

it('a bidirectional control character is refused in a name and in an email address', () => {
  const refused = range(0, 0x2fff).filter((code) => {
    const error = errorOf(titleField, `Acme ${String.fromCharCode(code)}gpj.exe`);
    return error?.endsWith('Must not contain bidirectional control characters');
  });
  expect(refused).toEqual(TURNING);
  for (const code of TURNING) {
    expect(errorOf(newEmailField, `boss${String.fromCharCode(code)}@example.com`)).toBe(
      'body: Must not contain bidirectional control characters',
    );
  }
});

it('letters that are read from right to left are a name', () => {
  expect(errorOf(titleField, 'שركة חברה')).toBeUndefined();
  expect(errorOf(newEmailField, 'אבי@example.com')).toBeUndefined();
});

it.each([
  ['2020-01-01T00:00:00Z', '2020-01-01T00:00:00.000Z'],
  ['2020-01-01T00:00:00+23:59', '2019-12-31T00:01:00.000Z'],
  ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
  ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ...['yesterday', '2026-01-01', '2026-13-01T00:00:00Z', '0000-01-01T00:00:00Z'].map((text) => [
    text,
  ]),
  ['0001-01-01T00:00:00+01:00'],
])('a time is one of RFC 3339 in the years 1 to 9999: %s', (text, time) => {
  const refused = { message: 'body: Must be an RFC 3339 time' };
  const parsed = parseShape(timeField, text);
  if (time === undefined) expect(parsed).toMatchObject(refused);
  else expect(parsed).toBe(time);
});

it('a device has sixteen labels, and not seventeen', () => {
  const labels = (count: number) =>
    parseShape(
      labelsField,
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`key${index}`, 'x'])),
    );
  expect(labels(16)).toHaveProperty('size', 16);
  expect(labels(17)).toMatchObject({ message: 'body: At most 16 labels' });
});

it.each<[bundle: unknown, message: string | undefined]>([
  ...['', '\u0000', '\ud800'].map((bundle): [unknown, undefined] => [bundle, undefined]),
  ['x'.repeat(10_000), 'Must have at most 32 characters'],
  ...[7, null, ['deb']].map((bundle): [unknown, string] => [bundle, 'Expected a string']),
])(
  'a `bundle` %j in a decisions call tells nothing, or is refused with its path: %s (§20.2)',
  (bundle, message) => {
    const device = { deviceId: 'd', version: '1.0.0', platform: 'linux', arch: 'x64' };
    const devices = [device, { ...device, bundle }];
    const parsed = parseShape(planWaveBody, { app: 'acme', devices });
    if (message === undefined) expect(parsed).toMatchObject({ devices: [{}, { bundle: '' }] });
    else expect(parsed).toMatchObject({ message: `devices.1.bundle: ${message}` });
  },
);
