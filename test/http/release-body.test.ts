// Tests the bodies of publishing, serving control, promotion, withdrawal and plans: what of them is kept as
// it was given, and that whatever is wrong is refused with the name of its field (docs/contract.md 2.1, 2.3,
// 4.1, 4.3, 27).

import { describe, expect, it } from 'vitest';
import { isFailure } from '../../src/contract/failure.ts';
import { parseShape } from '../../src/http/endpoint/parse-shape.ts';
import {
  promoteReleaseBody,
  publishReleaseBody,
  putPlanBody,
  servingControlBody,
  withdrawReleaseBody,
} from '../../src/http/endpoint/release-body.ts';
import { ARTIFACT } from '../support/tenant.ts';

type Json = Record<string, unknown>;

const SHAPES = {
  publish: publishReleaseBody,
  control: servingControlBody,
  promote: promoteReleaseBody,
  withdraw: withdrawReleaseBody,
  plan: putPlanBody,
};
type Call = keyof typeof SHAPES;

const NAME = { app: 'notes', channel: 'stable', version: '1.0.0' };
const VALID: Readonly<Record<Call, Json>> = {
  publish: { ...NAME, artifacts: [{ ...ARTIFACT, sha512: 'x', size: 1 }], notes: 'n', rollout: 1 },
  control: { ...NAME, rollout: 100 },
  promote: { app: 'notes', version: '1.0.0', from: 'beta', to: 'stable' },
  withdraw: NAME,
  plan: { ...NAME, steps: [{ rollout: 10, holdMinutes: 60 }] },
};
const HOURS = { days: ['mon'], from: '09:00', to: '17:00', timeZone: 'Europe/Berlin' };

/** Parses a body as it comes out of JSON; `text` stands in the place of a value `@`. */
function parse(call: Call, more: Json, text?: string) {
  const json = JSON.stringify({ ...VALID[call], ...more });
  return parseShape(
    SHAPES[call],
    JSON.parse(text === undefined ? json : json.replace('"@"', text)),
  );
}

function errorOf(call: Call, more: Json, text?: string): string {
  const parsed = parse(call, more, text);
  return isFailure(parsed) ? String(parsed.message) : 'accepted';
}

/** Expects every body to be refused with the name of the field, or of a part below it. */
function expectNamed(call: Call, path: string, bodies: readonly Json[]): void {
  for (const body of bodies) {
    const error = errorOf(call, body);
    const isNamed = [': ', '.'].some((sign) => error.startsWith(path + sign));
    expect(isNamed, `${JSON.stringify(body)}: ${error} should begin with ${path}`).toBe(true);
    expect(error).toMatch(/: ./);
  }
}

/** Expects fields to be kept as they were given, or as in `whole`. */
function expectKept(call: Call, more: Json, whole: Json = more): void {
  const parsed = parse(call, more) as Json;
  const kept = Object.keys(whole).map((name) => [name, parsed[name]]);
  expect(Object.fromEntries(kept), JSON.stringify(parsed)).toStrictEqual(whole);
}

/** A body whose first artifact, or one of targets, has these parts. */
const artifact = (more: Json): Json => ({ artifacts: [{ ...ARTIFACT, ...more }] });
const expression = (parts: unknown): Json => ({ targets: { matchExpressions: [parts] } });
/** A plan by a preset, with these parts beside it, and one that raises within hours like these. */
const withPreset = (more: Json): Json => ({ preset: 'fast', steps: undefined, ...more });
const within = (more: Json): Json => ({ raiseBetween: { ...HOURS, ...more } });

// NUL is what PostgreSQL does not take, half a surrogate pair is no character in UTF-8.
const BROKEN = ['a\u0000b', '\u0000', 'a\ud800', '\udc00b', '\udc00\ud800'];
const ANY = ['text', '', null, 0, 1.5, true, [], ['x'], {}, { x: 1 }];
const NO_TEXT = ANY.filter((value) => typeof value !== 'string');
const NO_NAME = ['', ...NO_TEXT, ...BROKEN];
const [SHA256, SHA1] = ['cd'.repeat(32), 'cd'.repeat(20)];
const NO_FORMAT = ['AppImage', '.deb', 'x'.repeat(33)];
const NO_SYSTEM = ['10.x', `${'1.'.repeat(16)}1`];
const NO_NUMBER = [...ANY, '1', '50', -1, 1.5, 49.5, 1e21].filter((value) => value !== 0);
const NO_LIST = ANY.filter((value) => !Array.isArray(value) || value.length > 0);
const NO_OBJECT = ANY.filter((value) => value === null || typeof value !== 'object');
const NO_TARGETS = [...NO_OBJECT.filter((value) => value !== null), []];
const NO_VERSION = [
  ...ANY,
  ...BROKEN,
  ...['latest', '1.2.3.4.5', '1..2', '1.2.', '.1', '1.x', '-1', 'vv1', '1.2-', '1.2+', '1.2-a..b'],
  ...['1.2-ü', ' 1.2', '1.2 ', '1.2\n', '１.２', `1.0.0-${'a'.repeat(59)}`],
];
const NO_STATUS = [...ANY, ...BROKEN, 'Published', 'draft', ['paused']];
const NO_URL = [
  ...[...ANY, '/a/b', 'a.example/b', '//a.example/b', 'ftp://a.example/b', 'file:///etc/passwd'],
  ...['javascript:alert(1)', 'data:text/plain,x', 'https:', 'https://', 'https://a.example/b c'],
  ...[' https://a.example/b', 'https://a.example/b\n', 'https://a.example:99999/'],
  ...BROKEN.map((end) => `https://a.example/${end}`),
  'https://downloads.example.com/'.padEnd(2049, 'a'),
];
const NOTES_BYTES_MAX = 256 * 1024;
const LONGEST_NOTES = ['x', 'é', '🚀'].map((character) =>
  character.repeat(NOTES_BYTES_MAX / Buffer.byteLength(character)),
);

const TWICE = 'preset: Stands for steps, guards and onBlind: give it or those';
const TEXT = (most: number) => `not be empty|have at most ${most} characters|not contain NUL`;

describe('what is wrong is refused with the name of the field', () => {
  it.each<[path: string, values: readonly unknown[]]>([
    ['app', NO_NAME],
    ['channel', NO_NAME],
    ['version', NO_VERSION],
    ['notes', [...NO_TEXT, ...BROKEN, ...LONGEST_NOTES.map((longest) => `${longest}x`)]],
    ['rollout', [...NO_NUMBER, 101]],
    ['status', [...NO_STATUS, 'rolled_back', 'deprecated']],
    ['artifacts', [...NO_LIST, Array(201).fill(ARTIFACT)]],
    ['artifacts.0', [...NO_OBJECT, []]],
    ['artifacts.0.platform', NO_NAME],
    ['artifacts.0.arch', NO_NAME],
    ['artifacts.0.url', NO_URL],
    ['artifacts.0.sha512', NO_NAME],
    ['artifacts.0.signature', NO_NAME],
    ['artifacts.0.size', [...NO_NUMBER, 2 ** 53]],
    ['targets', NO_TARGETS],
  ])('%s at publish', (path, values) => {
    const [first = '', position, field] = path.split('.');
    const spoil = (value: unknown): Json => {
      if (field !== undefined) return artifact({ [field]: value });
      return { [first]: position === undefined ? value : [value] };
    };
    expectNamed('publish', path, values.map(spoil));
  });

  it.each<[path: string, values: readonly unknown[]]>([
    ['app', NO_NAME],
    ['channel', NO_NAME],
    ['version', NO_VERSION],
    ['rollout', [...NO_NUMBER, 101]],
    ['status', NO_STATUS],
    ['targets', NO_TARGETS],
    ['reason', [...NO_TEXT, ...BROKEN, 'x'.repeat(501)]],
  ])('%s at serving control', (path, values) => {
    for (const value of values) expectNamed('control', path, [{ [path]: value }]);
  });

  it('a line break at the end of a checksum is cut off, one and no more (§2.1)', () => {
    const sums = { sha512: 'q83vEjRWeJA=', sha256: SHA256, sha1: SHA1 };
    const ended = (end: string) => Object.entries(sums).map(([name, sum]) => [name, sum + end]);
    for (const end of ['\n', '\r\n']) {
      expectKept('publish', artifact(Object.fromEntries(ended(end))), artifact(sums));
    }
    for (const end of ['\n\n', '\r', '\n ', '\t', '\n\r']) {
      for (const [name = '', sum] of ended(end)) {
        const error = errorOf('publish', artifact({ [name]: sum }));
        expect(error, JSON.stringify(sum)).toContain(`artifacts.0.${name}: Must `);
      }
    }
    const empty = 'artifacts.0.sha512: Must not be empty';
    expect(errorOf('publish', artifact({ sha512: '\n' }))).toBe(empty);
  });

  it.each<[field: string, good: string, reason: string, ...bad: readonly string[]]>([
    ['format', 'deb', "Must be a format's name of at most 32 characters", ...NO_FORMAT],
    ['sha256', SHA256, 'Must be 64 hexadecimal digits', SHA1, 'xy'.repeat(32)],
    ['sha1', SHA1, 'Must be 40 hexadecimal digits', SHA256],
    ['minimumSystemVersion', '10.15', `Must (be dotted numbers|${TEXT(32)})`, ...NO_SYSTEM],
    ['buildVersion', '7', `Must (${TEXT(64)})`, 'x'.repeat(65)],
  ])('%s of an artifact, what is good is kept (§2.1)', (field, good, reason, ...bad) => {
    const told = (value: unknown) => ({ artifacts: [ARTIFACT, { ...ARTIFACT, [field]: value }] });
    expectKept('publish', told(good));
    for (const text of ['', 'x'.repeat(10_000), '\u0000', `${good}\u0000`, '\ud800', ...bad]) {
      const message = expect.stringMatching(`^artifacts\\.1\\.${field}: ${reason}`);
      expect([text, errorOf('publish', told(text))]).toEqual([text, message]);
    }
    for (const value of [7, null, [good], {}]) {
      const message = `artifacts.1.${field}: Expected a string`;
      expect(errorOf('publish', told(value))).toContain(message);
    }
  });

  it('control characters in what devices are told of a file', () => {
    const controls = ['\u0001', '\t', '\n', '\r', '\u001b', '\u007f', '\u0085', '\u009b'];
    for (const field of ['platform', 'arch', 'sha512', 'buildVersion', 'url', 'signature']) {
      // A signature may be a text of lines, such as a minisign file.
      for (const control of controls.filter((one) => field !== 'signature' || one.trim() !== '')) {
        const error = errorOf('publish', artifact({ [field]: `https://a.example/b${control}c` }));
        expect([control, error]).toEqual([
          ...[control, `artifacts.0.${field}: Must not contain control characters`],
        ]);
      }
    }
    const signature = 'untrusted comment: x\r\n\tRWQ=\ntrusted comment: y\nc2ln\n';
    expectKept('publish', artifact({ signature }));
  });

  it.each(['1e400', '-1e400', '1e21', '9007199254740993', '0.1', '-0.5'])(
    'a number like %s is none',
    (number) => {
      expect(errorOf('publish', { rollout: '@' }, number)).toMatch(/^rollout: ./);
      expect(errorOf('control', { rollout: '@' }, number)).toMatch(/^rollout: ./);
      expect(errorOf('publish', artifact({ size: '@' }), number)).toMatch(/^artifacts\.0\.size: ./);
    },
  );

  it('what is missing, and what is unknown, in every body', () => {
    for (const call of ['publish', 'control', 'withdraw'] as const) {
      for (const field of ['app', 'channel', 'version']) {
        expect(errorOf(call, { [field]: undefined })).toBe(`${field}: Required`);
      }
    }
    const unknown = {
      publish: ['rolout', 'rolloutPct', 'id', 'createdAt', 'a\u0000'],
      control: ['rolout', 'rolloutPct', 'target', 'notes', 'artifacts'],
      ...{ promote: ['notes'], withdraw: ['force'], plan: ['step'] },
    };
    const inherited = ['__proto__', 'constructor', 'prototype', 'toString', 'then', ''];
    for (const [call, keys] of Object.entries(unknown) as [Call, string[]][]) {
      for (const key of [...keys, ...inherited]) {
        const named = errorOf(call, JSON.parse(`{${JSON.stringify(key)}:{"app":"x"}}`));
        expect([call, key, named.replace(/^.*: /, '')]).toEqual([call, key, 'Unrecognized key']);
        if (!key.includes('\0')) expect(named).toBe(`${key}: Unrecognized key`);
      }
    }
  });

  it.each<[call: Call, more: Json, error: string | RegExp]>([
    ['publish', artifact({ md5: 'x' }), 'artifacts.0.md5: Unrecognized key'],
    ['publish', { artifacts: [ARTIFACT, { arch: 'x' }] }, 'artifacts.1.platform: Required'],
    ['publish', { version: 'latest' }, 'version: Invalid version'],
    ['control', { version: 'latest' }, 'version: Invalid version'],
    ['control', { rollout: 101 }, 'rollout: Must be at most 100'],
    ['control', { status: 'draft' }, /^status: Must be one of published, /],
    ['control', { rollout: undefined }, /rollout.*status.*targets/],
    ['control', { rollout: undefined, reason: 'why' }, /rollout.*status.*targets/],
    ['promote', { to: 'beta' }, 'to: Must be another channel than from'],
    ['promote', { version: 'one' }, 'version: Invalid version'],
    ['promote', { status: 'deprecated' }, 'status: Must be one of published, paused'],
    ['withdraw', { version: 'one' }, 'version: Invalid version'],
    ['withdraw', { reason: 'x'.repeat(501) }, 'reason: Must have at most 500 characters'],
    ['withdraw', { reason: 7 }, 'reason: Expected a string'],
    // Plans (§27.11, §27.12).
    ['plan', { preset: 'fast' }, TWICE],
    ['plan', withPreset({ guards: {} }), TWICE],
    ['plan', withPreset({ onBlind: 'hold' }), TWICE],
    ['plan', withPreset({ preset: 'slow' }), 'preset: Must be one of careful, normal, fast'],
    ['plan', { steps: undefined }, 'steps: Is required, or a preset'],
    ['plan', { patienceMinutes: 43_201 }, 'patienceMinutes: Must be at most 43200'],
    ['plan', { onBlind: 'pause' }, 'onBlind: Must be one of hold, advance'],
    ['plan', within({ days: [] }), 'raiseBetween.days: Must have at least 1 item'],
    ['plan', within({ days: ['mon', 'mon'] }), 'raiseBetween.days: Must name each day once'],
    ['plan', within({ from: '9:00' }), 'raiseBetween.from: Must be HH:MM, 00:00 to 23:59'],
    ['plan', within({ to: '09:00' }), 'raiseBetween.to: Must be another time than from'],
    ['plan', within({ timeZone: 'Berlin' }), 'raiseBetween.timeZone: Must be an IANA time zone'],
  ])('%s with %j: %s', (call, more, error) => {
    const expected = typeof error === 'string' ? error : expect.stringMatching(error);
    expect(errorOf(call, more)).toEqual(expected);
  });
});

describe('targeting that could mislead is refused when it is set', () => {
  const a = (operator: unknown, values?: unknown, key: unknown = 'a') => ({
    ...{ key, operator, values },
  });
  const version = (operator: string, values?: unknown) => a(operator, values, '$version');

  it.each<[path: string, ...expressions: readonly unknown[]]>([
    ['', 'ring', []],
    ['.key', a('VersionGte', ['1.0.0']), a('VersionLt', ['1.0.0'], '$platform')],
    ['.key', a('In', ['linux'], '$os'), a('Exists', undefined, '$'), a('Exists', undefined, '')],
    ['.key', a('Exists', undefined, null), { operator: 'Exists' }],
    ['.key', ...BROKEN.map((text) => a('Exists', undefined, text))],
    ['.operator', a('in', ['x']), a('In\u0000', ['x']), a(undefined, ['x'])],
    ['.values', version('VersionGte', []), version('VersionLt'), version('In', ['1.0', 'latest'])],
    ['.values', version('VersionLt', ['1.0.0', '2.0.0']), version('VersionGte', ['latest'])],
    ['.values', a('In', []), a('In'), a('NotIn', [])],
    ['.values', a('Exists', ['x']), a('DoesNotExist', ['x'])],
    ['.values.0', ...BROKEN.map((text) => a('In', [text]))],
    ['.values.1', a('In', ['x', 1])],
    ['.value', { ...a('Exists'), value: 'x' }],
  ])('an expression by its %s', (path, ...expressions) => {
    for (const call of ['publish', 'control'] as const) {
      expectNamed(call, `targets.matchExpressions.0${path}`, expressions.map(expression));
    }
  });

  it.each<[path: string, ...targets: readonly Json[]]>([
    ['matchExpressions.1.key', { matchExpressions: [a('Exists'), a('Exists', undefined, '$x')] }],
    ['matchExpressions', { matchExpressions: {} }, { matchExpressions: null }],
    ['matchLabels', { matchLabels: ['ring'] }, { matchLabels: null }],
    ['matchLabels', ...BROKEN.map((text) => ({ matchLabels: { [text]: ['a'] } }))],
    ['matchLabels.$platform', { matchLabels: { $platform: ['linux'] } }],
    ['matchLabels.$x', { matchLabels: { $x: ['a'] } }],
    ['matchLabels.', { matchLabels: { '': ['a'] } }],
    ...[[], 'a', null, [1], ...BROKEN.map((text) => ['a', text])].map((ring): [string, Json] => [
      ...(['matchLabels.ring', { matchLabels: { ring } }] as const),
    ]),
    ['matchLabel', { matchLabel: {} }],
  ])('a part by its name: %s', (path, ...targets) => {
    for (const call of ['publish', 'control'] as const) {
      for (const each of targets) expectNamed(call, `targets.${path}`, [{ targets: each }]);
    }
  });
});

describe('what is right is kept as it was given', () => {
  it('the longest version, address and notes, the largest size, the most artifacts, each share', () => {
    expectKept('publish', { version: `1.0.0-${'a'.repeat(58)}` });
    for (const call of ['publish', 'control'] as const) {
      for (const rollout of [0, 1, 60, 100]) expectKept(call, { rollout });
    }
    const plain = [
      'https://a.example/b?c=d&e=%20#f',
      'http://a.example',
      'HTTPS://A.EXAMPLE:8443/b',
    ];
    for (const url of [...plain, 'https://downloads.example.com/'.padEnd(2048, 'a')]) {
      expectKept('publish', artifact({ url }));
    }
    for (const size of [0, 1, 2 ** 31, Number.MAX_SAFE_INTEGER]) {
      expectKept('publish', artifact({ size }));
    }
    const artifacts = Array.from({ length: 200 }, (_, index) => ({ platform: `p${index}` }));
    expectKept('publish', { artifacts });
    for (const notes of LONGEST_NOTES) expectKept('publish', { notes });
  });

  it('what is left out is empty: notes, artifacts and targeting', () => {
    const parsed = parseShape(publishReleaseBody, NAME);
    expect(parsed).toMatchObject({ notes: '', artifacts: [], targets: null, status: 'published' });
    const all = { matchLabels: {}, matchExpressions: [] };
    const exists = { key: 'a', operator: 'Exists' };
    for (const [targets, whole] of [
      [{}, {}],
      [{ matchLabels: { a: ['1', ''] } }, { matchLabels: { a: ['1', ''] } }],
      [{ matchExpressions: [exists] }, { matchExpressions: [{ ...exists, values: [] }] }],
    ]) {
      expectKept('control', { targets }, { targets: { ...all, ...whole } });
    }
  });

  // An object that is built key by key loses such a key: the rule would be gone.
  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'the label key %s, which stays a rule',
    (key) => {
      const targets = `{"matchLabels":{"${key}":["x"]},"matchExpressions":[]}`;
      const body = parse('control', { targets: JSON.parse(targets) }) as Json;
      expect(JSON.stringify(body.targets)).toBe(targets);
    },
  );

  it('every operator and reserved field of the contract (§2.3.2)', () => {
    const matchExpressions = [
      { key: '$platform', operator: 'In', values: ['linux'] },
      { key: '$arch', operator: 'NotIn', values: ['arm64'] },
      { key: '$version', operator: 'VersionGte', values: ['v0.1'] },
      { key: '$version', operator: 'VersionLt', values: ['2'] },
      { key: '$version', operator: 'In', values: ['1.0', 'v2'] },
      { key: '$version', operator: 'Exists', values: [] },
      { key: 'kiosk', operator: 'DoesNotExist', values: [] },
    ];
    expectKept('control', { targets: { matchLabels: { ring: ['a', ''] }, matchExpressions } });
  });
});
