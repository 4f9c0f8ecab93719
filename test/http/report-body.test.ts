// Tests the body of a report: whatever is wrong is refused with the path of its field (docs/contract.md 2.6,
// 4.5 and 7.1). That a wave has the same fields of devices is tested in field.test.ts.

import { expect, it } from 'vitest';
import { isFailure } from '../../src/contract/failure.ts';
import { reportFleetBody } from '../../src/http/endpoint/fleet-body.ts';
import { parseShape } from '../../src/http/endpoint/parse-shape.ts';

const DEVICE = { deviceId: 'd', version: '1.0.0', platform: 'linux' };
/** Character of two UTF-16 units and four bytes. */
const ROCKET = '🚀';
const LONG_KEY = 'k'.repeat(129);

const parse = (change: object) =>
  parseShape(reportFleetBody, { app: 'notes', devices: [DEVICE], ...change });
/** Change of the last of 100 devices: one wrong device refuses the whole call. */
const last = (change: object) => ({
  devices: Array.from({ length: 100 }, (_, at) => (at === 99 ? { ...DEVICE, ...change } : DEVICE)),
});
const numbered = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 'v']));

it.each<[change: object, error: string]>([
  [{ app: undefined }, 'app: Required'],
  [{ app: 7 }, 'app: Expected'],
  [{ dryRun: true }, 'dryRun: Unrecognized key'],
  [{ devices: undefined }, 'devices: Required'],
  [{ devices: DEVICE }, 'devices: Expected'],
  [{ devices: [] }, 'devices: Must have at least'],
  [{ devices: new Array(501).fill(DEVICE) }, 'devices: Must have at most'],
  [{ devices: [7] }, 'devices.0: Expected an object'],
  ...(
    [
      [{ version: 'one' }, 'version: Invalid version'],
      [{ version: `1.0.0-${'a'.repeat(59)}` }, 'version: Invalid version'],
      ...['', 'x'.repeat(129), ROCKET.repeat(129)].map((deviceId) => [{ deviceId }, 'deviceId: ']),
      ...['deviceId', 'version', 'platform'].flatMap((field) => [
        [{ [field]: undefined }, `${field}: Required`],
        [{ [field]: 1 }, `${field}: Expected a string`],
      ]),
      ...['platform', 'arch', 'channel'].map((at) => [{ [at]: null }, `${at}: Expected a string`]),
      ...['deviceId', 'platform', 'arch', 'channel'].map((at) => [{ [at]: 'a\u0000b' }, `${at}: `]),
      [{ os: 'linux' }, 'os: Unrecognized key'],
      [{ labels: numbered(17) }, 'labels: At most 16 labels'],
      [{ labels: { a: ROCKET.repeat(257) } }, 'labels.a: '],
      [{ labels: { [LONG_KEY]: '' } }, `labels.${LONG_KEY}: `],
      [{ labels: { '': 'v' } }, 'labels.: '],
      [{ labels: { $version: '1' } }, 'labels.$version: '],
      ...[1, null, { b: 'c' }, 'x\u0000y', '\ud83d'].map((a) => [{ labels: { a } }, 'labels.a: ']),
      [{ labels: { 'x\u0000y': 'a' } }, 'labels.x\u0000y: '],
      ...[null, ['a'], 'a=b'].map((labels) => [{ labels }, 'labels: ']),
    ] as [object, string][]
  ).map(([change, error]): [object, string] => [last(change), `devices.99.${error}`]),
])('case %#: what is wrong is named', (change, error) => {
  const parsed = parse(change);
  expect(isFailure(parsed) && parsed.message.slice(0, error.length)).toBe(error);
});

it('lengths are those of characters; labels may have any names, also those of object internals', () => {
  const labels = {
    ...{
      [ROCKET.repeat(128)]: ROCKET.repeat(256),
      'größe & 🚀': 'a=b&c\n\t"\\',
      ' ': ' ',
      '1': '',
    },
    ...(JSON.parse('{"constructor":"y","__proto__":"z"}') as object),
  };
  const devices = [{ ...DEVICE, deviceId: ROCKET.repeat(128), labels }];
  const read = { channel: 'stable', labels: new Map(Object.entries(labels)) };
  expect(parse({ devices })).toMatchObject({ devices: [{ ...devices[0], ...read }] });
});
