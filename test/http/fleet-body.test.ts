// Tests the body of a wave: whatever is wrong is refused with the path of its field (docs/contract.md 4.6 and
// 7.1).

import { expect, it } from 'vitest';
import { isFailure } from '../../src/contract/failure.ts';
import { planWaveBody } from '../../src/http/endpoint/fleet-body.ts';
import { parseShape } from '../../src/http/endpoint/parse-shape.ts';

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
  ...['', '🚀'.repeat(129), 'a\u0000'].map((deviceId): [object, RegExp] => [
    second({ deviceId }),
    /^devices\.1\.deviceId: /,
  ]),
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
