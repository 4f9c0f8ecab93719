// Tests fields of bodies. In names that people read, characters that turn the direction of a text, and so
// make names look like others, are refused, each of them and no letter; a time is one that databases take;
// whatever is wrong in the body of a wave is refused with the path of its field (docs/contract.md 4.6 and
// 7.1).

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

it('a bidirectional control character is refused in names and addresses, letters from right to left are not', () => {
  const reason = 'body: Must not contain bidirectional control characters';
  const turns = (code: number) =>
    errorOf(titleField, `Acme ${String.fromCharCode(code)}gpj.exe`) === reason;
  expect(range(0, 0x2fff).filter(turns)).toEqual(TURNING);
  for (const code of TURNING) {
    expect(errorOf(newEmailField, `boss${String.fromCharCode(code)}@example.com`)).toBe(reason);
  }
  expect(errorOf(titleField, 'שركة חברה')).toBeUndefined();
  expect(errorOf(newEmailField, 'אבי@example.com')).toBeUndefined();
});

it.each([
  ['2020-01-01T00:00:00Z', '2020-01-01T00:00:00.000Z'],
  ['2020-01-01T00:00:00+23:59', '2019-12-31T00:01:00.000Z'],
  ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
  ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ...[['yesterday'], ['2026-01-01'], ['2026-13-01T00:00:00Z'], ['0000-01-01T00:00:00Z']],
  ['0001-01-01T00:00:00+01:00'],
])('a time is one of RFC 3339 in the years 1 to 9999: %s', (text, time) => {
  const refused = { message: 'body: Must be an RFC 3339 time' };
  const parsed = parseShape(timeField, text);
  if (time === undefined) expect(parsed).toMatchObject(refused);
  else expect(parsed).toBe(time);
});

it('a device has sixteen labels, and not seventeen', () => {
  const labels = (count: number) => {
    const entries = Array.from({ length: count }, (_, index) => [`key${index}`, 'x']);
    return parseShape(labelsField, Object.fromEntries(entries));
  };
  expect(labels(16)).toHaveProperty('size', 16);
  expect(labels(17)).toMatchObject({ message: 'body: At most 16 labels' });
});

const DEVICE = { deviceId: 'd', version: '1.0.0', platform: 'linux', arch: 'x86_64' };
const UNKNOWN = 'Unrecognized key';

/** Body of two devices, the second with a change. */
const second = (change: object) => ({ devices: [DEVICE, { ...DEVICE, ...change }] });
const devices = (length: number) => ({ devices: Array.from({ length }, () => DEVICE) });

it.each<[change: object, error: string | RegExp]>([
  [devices(0), /^devices: /],
  [devices(501), /^devices: /],
  [{ devices: undefined }, 'devices: Required'],
  [second({ version: 'x' }), 'devices.1.version: Invalid version'],
  [second({ platform: undefined }), 'devices.1.platform: Required'],
  [second({ deviceId: undefined }), 'devices.1.deviceId: Required'],
  [second({ deviceId: '' }), /^devices\.1\.deviceId: /],
  [second({ deviceId: '🚀'.repeat(129) }), /^devices\.1\.deviceId: /],
  [second({ deviceId: 'a\u0000' }), /^devices\.1\.deviceId: /],
  [second({ bundle: 'x'.repeat(33) }), 'devices.1.bundle: Must have at most 32 characters'],
  [second({ bundle: 7 }), 'devices.1.bundle: Expected a string'],
  [second({ bundle: null }), 'devices.1.bundle: Expected a string'],
  [second({ arch: '' }), /^devices\.1\.arch: /],
  [second({ labels: {} }), `devices.1.labels: ${UNKNOWN}`],
  [second({ channel: 'a' }), `devices.1.channel: ${UNKNOWN}`],
  [{ dryRun: 'true' }, 'dryRun: Expected a boolean'],
  [{ dryRun: null }, 'dryRun: Expected a boolean'],
  [{ dryrun: true }, `dryrun: ${UNKNOWN}`],
  [{ channel: 7 }, 'channel: Expected a string'],
  [{ app: undefined }, 'app: Required'],
])('case %#: what is wrong is named', (change, error) => {
  const parsed = parseShape(planWaveBody, { app: 'notes', devices: [DEVICE], ...change });
  expect(isFailure(parsed) && parsed.message).toEqual(
    error instanceof RegExp ? expect.stringMatching(error) : error,
  );
});

it('a wave has 500 devices at most; it is no dry run, and of stable, unless it says so', () => {
  const parsed = parseShape(planWaveBody, { app: 'notes', ...devices(500) });
  expect(parsed).toMatchObject({ channel: 'stable', dryRun: false, ...devices(500) });
});

it.each(['', '\u0000', '\ud800'])('a `bundle` %j tells nothing (§20.2)', (bundle) => {
  const parsed = parseShape(planWaveBody, { app: 'notes', ...second({ bundle }) });
  expect(parsed).toMatchObject({ devices: [{}, { bundle: '' }] });
});
