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

function errorOf(call: Call, more: Json, text?: string): string | undefined {
  const parsed = parse(call, more, text);
  return isFailure(parsed) ? parsed.message : undefined;
}

function kept(call: Call, more: Json): Json {
  const parsed = parse(call, more);
  if (isFailure(parsed)) throw new Error(parsed.message);
  return parsed as Json;
}

/** Expects every value to be refused with the name of the field, or of a part below it. */
function expectNamed(call: Call, path: string, bodies: readonly Json[]): void {
  for (const body of bodies) {
    const error = errorOf(call, body) ?? 'accepted';
    const isNamed = [': ', '.'].some((sign) => error.startsWith(path + sign));
    expect(isNamed, `${JSON.stringify(body)}: ${error} should begin with ${path}`).toBe(true);
    expect(error).toMatch(/: ./);
  }
}

const artifact = (more: Json): Json => ({ artifacts: [{ ...ARTIFACT, ...more }] });
const expression = (parts: Json): Json => ({ targets: { matchExpressions: [parts] } });
/** A plan by a preset, with these parts beside it, and one that raises within hours like these. */
const withPreset = (more: Json): Json => ({ preset: 'fast', steps: undefined, ...more });
const within = (more: Json): Json => ({ raiseBetween: { ...HOURS, ...more } });

// NUL is what PostgreSQL does not take, half a surrogate pair is no character in UTF-8.
const BROKEN = ['a\u0000b', '\u0000', 'a\ud800', '\udc00b', '\udc00\ud800'];
const ANY = ['text', '', null, 0, 1.5, true, [], ['x'], {}, { x: 1 }];
const NO_TEXT = ANY.filter((value) => typeof value !== 'string');
const NO_NAME = ['', ...NO_TEXT, ...BROKEN];
const SHA256 = 'cd'.repeat(32);
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

describe('what is wrong is refused with the name of the field', () => {
  it.each<[path: string, values: readonly unknown[], spoil: (value: unknown) => Json]>([
    ['app', NO_NAME, (app) => ({ app })],
    ['channel', NO_NAME, (channel) => ({ channel })],
    ['version', NO_VERSION, (version) => ({ version })],
    ['notes', [...NO_TEXT, ...BROKEN], (notes) => ({ notes })],
    ['notes', LONGEST_NOTES.map((longest) => `${longest}x`), (notes) => ({ notes })],
    ['rollout', [...NO_NUMBER, 101], (rollout) => ({ rollout })],
    ['status', [...NO_STATUS, 'rolled_back', 'deprecated'], (status) => ({ status })],
    ['artifacts', [...NO_LIST, Array(201).fill(ARTIFACT)], (artifacts) => ({ artifacts })],
    ['artifacts.0', [...NO_OBJECT, []], (one) => ({ artifacts: [one] })],
    ['artifacts.0.platform', NO_NAME, (platform) => artifact({ platform })],
    ['artifacts.0.arch', NO_NAME, (arch) => artifact({ arch })],
    ['artifacts.0.url', NO_URL, (url) => artifact({ url })],
    ['artifacts.0.sha512', NO_NAME, (sha512) => artifact({ sha512 })],
    ['artifacts.0.signature', NO_NAME, (signature) => artifact({ signature })],
    ['artifacts.0.size', [...NO_NUMBER, 2 ** 53], (size) => artifact({ size })],
    ['targets', NO_TARGETS, (targets) => ({ targets })],
  ])('%s at publish', (path, values, spoil) => {
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
    expectNamed(
      'control',
      path,
      values.map((value) => ({ [path]: value })),
    );
  });

  it('a line break at the end of a checksum is cut off, one and no more (§2.1)', () => {
    const sums = { sha512: 'q83vEjRWeJA=', sha256: 'ab'.repeat(32), sha1: 'cd'.repeat(20) };
    const ended = (end: string) =>
      Object.fromEntries(Object.entries(sums).map(([name, sum]) => [name, `${sum}${end}`]));
    for (const end of ['\n', '\r\n']) {
      const body = { artifacts: [{ ...ARTIFACT, ...ended(end) }] };
      expect(kept('publish', body).artifacts).toEqual([{ ...ARTIFACT, ...sums }]);
    }
    for (const end of ['\n\n', '\r', '\n ', '\t', '\n\r']) {
      for (const [name, sum] of Object.entries(ended(end))) {
        const error = errorOf('publish', { artifacts: [{ ...ARTIFACT, [name]: sum }] });
        expect(error, JSON.stringify(sum)).toMatch(new RegExp(`^artifacts\\.0\\.${name}: Must `));
      }
    }
    const empty = errorOf('publish', { artifacts: [{ ...ARTIFACT, sha512: '\n' }] });
    expect(empty).toBe('artifacts.0.sha512: Must not be empty');
  });

  it.each<[field: string, good: string, bad: readonly string[], reason: string]>([
    [
      ...(['format', 'deb', ['AppImage', '.deb', 'x'.repeat(33)]] as const),
      "Must be a format's name of at most 32 characters",
    ],
    [
      'sha256',
      SHA256,
      [SHA256.slice(2), `${SHA256}\n\n`, 'xy'.repeat(32)],
      'Must be 64 hexadecimal digits',
    ],
    ['sha1', SHA256.slice(24), [SHA256], 'Must be 40 hexadecimal digits'],
    [
      ...(['minimumSystemVersion', '10.15', ['10.x', `${'1.'.repeat(16)}1`]] as const),
      'Must (be dotted numbers|not be empty|have at most 32 characters|not contain NUL)',
    ],
    [
      ...(['buildVersion', '7', ['x'.repeat(65)]] as const),
      'Must (not be empty|have at most 64 characters|not contain NUL)',
    ],
  ])('%s of an artifact, what is good is kept (§2.1)', (field, good, bad, reason) => {
    const told = (value: unknown) => ({ artifacts: [ARTIFACT, { ...ARTIFACT, [field]: value }] });
    expect(kept('publish', told(good))).toMatchObject(told(good));
    const texts = ['', 'x'.repeat(10_000), '\u0000', `${good}\u0000`, '\ud800', ...bad];
    for (const text of texts) {
      const message = new RegExp(`^artifacts\\.1\\.${field}: (?:${reason})`);
      expect([text, errorOf('publish', told(text))]).toEqual([
        text,
        expect.stringMatching(message),
      ]);
    }
    for (const value of [7, null, [good], {}]) {
      const message = `artifacts.1.${field}: Expected a string`;
      expect(errorOf('publish', told(value))).toMatch(message);
    }
  });

  it('control characters in what devices are told of a file', () => {
    const controls = ['\u0001', '\t', '\n', '\r', '\u001b', '\u007f', '\u0085', '\u009b'];
    const reason = 'Must not contain control characters';
    for (const field of ['platform', 'arch', 'sha512', 'buildVersion', 'url'] as const) {
      const begin = field === 'url' ? 'https://a.example/b' : 'a';
      for (const control of controls) {
        const error = errorOf('publish', artifact({ [field]: `${begin}${control}c` }));
        expect([field, control, error]).toEqual([
          ...[field, control],
          `artifacts.0.${field}: ${reason}`,
        ]);
      }
    }
    // A signature may be a text of lines, such as a minisign file.
    for (const control of controls.filter((one) => !'\t\n\r'.includes(one))) {
      expect(errorOf('publish', artifact({ signature: `a${control}` }))).toBe(
        `artifacts.0.signature: ${reason}`,
      );
    }
    const signature = 'untrusted comment: x\r\n\tRWQ=\ntrusted comment: y\nc2ln\n';
    const artifacts = [{ ...ARTIFACT, signature }];
    expect(kept('publish', { artifacts }).artifacts).toStrictEqual(artifacts);
  });

  it.each(['1e400', '-1e400', '1e21', '9007199254740993', '0.1', '-0.5'])(
    'a number like %s is none',
    (number) => {
      const share = expect.stringMatching(/^rollout: ./);
      expect(errorOf('publish', { rollout: '@' }, number)).toEqual(share);
      expect(errorOf('control', { rollout: '@' }, number)).toEqual(share);
      expect(errorOf('publish', artifact({ size: '@' }), number)).toMatch(/^artifacts\.0\.size: ./);
    },
  );

  it.each<[call: Call, more: Json, error: string | RegExp]>([
    ...(['app', 'channel', 'version'] as const).flatMap((field) =>
      (['publish', 'control', 'withdraw'] as const).map((call): [Call, Json, string] => [
        call,
        { [field]: undefined },
        `${field}: Required`,
      ]),
    ),
    ['publish', { rolout: 10 }, 'rolout: Unrecognized key'],
    ['publish', { rolloutPct: 10 }, 'rolloutPct: Unrecognized key'],
    ['publish', { id: 'rel_1' }, 'id: Unrecognized key'],
    ['publish', { createdAt: '2026-01-01T00:00:00Z' }, 'createdAt: Unrecognized key'],
    ['publish', { 'a\u0000': 1 }, /Unrecognized key$/],
    ['publish', artifact({ md5: 'x' }), 'artifacts.0.md5: Unrecognized key'],
    [
      'publish',
      { artifacts: [ARTIFACT, { ...ARTIFACT, Platform: 'x' }] },
      'artifacts.1.Platform: Unrecognized key',
    ],
    ['publish', { artifacts: [ARTIFACT, { arch: 'x' }] }, 'artifacts.1.platform: Required'],
    ['publish', { version: 'latest' }, 'version: Invalid version'],
    ...['rolout', 'rolloutPct', 'target', 'notes', 'artifacts'].map((key): [Call, Json, string] => [
      'control',
      { [key]: 10 },
      `${key}: Unrecognized key`,
    ]),
    ['control', { version: 'latest' }, 'version: Invalid version'],
    ['control', { rollout: 101 }, 'rollout: Must be at most 100'],
    ['control', { status: 'draft' }, /^status: Must be one of published, /],
    ['control', { rollout: undefined }, /rollout.*status.*targets/],
    ['control', { rollout: undefined, reason: 'why' }, /rollout.*status.*targets/],
    ['promote', { to: 'beta' }, 'to: Must be another channel than from'],
    ['promote', { version: 'one' }, 'version: Invalid version'],
    ['promote', { notes: 'x' }, 'notes: Unrecognized key'],
    ['promote', { status: 'deprecated' }, 'status: Must be one of published, paused'],
    ['withdraw', { version: 'one' }, 'version: Invalid version'],
    ['withdraw', { force: true }, 'force: Unrecognized key'],
    ['withdraw', { reason: 'x'.repeat(501) }, 'reason: Must have at most 500 characters'],
    ['withdraw', { reason: 7 }, 'reason: Expected a string'],
  ])('%s with %j: %s', (call, more, error) => {
    expect(errorOf(call, more)).toEqual(
      typeof error === 'string' ? error : expect.stringMatching(error),
    );
  });

  const twice = 'preset: Stands for steps, guards and onBlind: give it or those';
  it.each<[error: string, more: Json]>([
    [twice, { preset: 'fast' }],
    [twice, withPreset({ guards: {} })],
    [twice, withPreset({ onBlind: 'hold' })],
    ['preset: Must be one of careful, normal, fast', withPreset({ preset: 'slow' })],
    ['steps: Is required, or a preset', { steps: undefined }],
    ['patienceMinutes: Must be at most 43200', { patienceMinutes: 43_201 }],
    ['onBlind: Must be one of hold, advance', { onBlind: 'pause' }],
    ['raiseBetween.days: Must have at least 1 item', within({ days: [] })],
    ['raiseBetween.days: Must name each day once', within({ days: ['mon', 'mon'] })],
    ['raiseBetween.from: Must be HH:MM, 00:00 to 23:59', within({ from: '9:00' })],
    ['raiseBetween.to: Must be another time than from', within({ to: '09:00' })],
    ['raiseBetween.timeZone: Must be an IANA time zone', within({ timeZone: 'Berlin' })],
  ])('a plan: %s (§27.11, §27.12)', (error, more) => {
    expect(errorOf('plan', more)).toBe(error);
  });

  it.each(['__proto__', 'constructor', 'prototype', 'toString', 'then', ''])(
    'a key named %j is unknown like any other',
    (key) => {
      for (const call of ['publish', 'control'] as const) {
        const text = `${JSON.stringify(VALID[call]).slice(0, -1)},"${key}":{"app":"x"}}`;
        const parsed = parseShape(SHAPES[call], JSON.parse(text));
        expect(isFailure(parsed) && parsed.message).toBe(`${key}: Unrecognized key`);
      }
    },
  );
});

describe('targeting that could mislead is refused when it is set', () => {
  const E = 'matchExpressions.0';
  const a = (operator: unknown, values?: unknown, key: unknown = 'a') => ({
    key,
    operator,
    values,
  });
  const version = (operator: string, values?: unknown) => a(operator, values, '$version');

  it.each<[what: string, one: unknown, path: string]>([
    ['VersionGte on a label', a('VersionGte', ['1.0.0']), `${E}.key`],
    ['VersionLt on a reserved field', a('VersionLt', ['1.0.0'], '$platform'), `${E}.key`],
    ['VersionGte without a version', version('VersionGte', []), `${E}.values`],
    ['VersionLt, values left out', version('VersionLt'), `${E}.values`],
    ['VersionLt with two versions', version('VersionLt', ['1.0.0', '2.0.0']), `${E}.values`],
    ['VersionGte with no valid version', version('VersionGte', ['latest']), `${E}.values`],
    ['In with a version that is none', version('In', ['1.0.0', 'latest']), `${E}.values`],
    ['an unknown $ key', a('In', ['linux'], '$os'), `${E}.key`],
    ['an unknown $ key with Exists', a('Exists', undefined, '$'), `${E}.key`],
    ['In with no values', a('In', []), `${E}.values`],
    ['In without values', a('In'), `${E}.values`],
    ['NotIn with no values', a('NotIn', []), `${E}.values`],
    ['values for Exists', a('Exists', ['x']), `${E}.values`],
    ['values for DoesNotExist', a('DoesNotExist', ['x']), `${E}.values`],
    ['an unknown operator', a('in', ['x']), `${E}.operator`],
    ['an operator with NUL', a('In\u0000', ['x']), `${E}.operator`],
    ['no operator', a(undefined, ['x']), `${E}.operator`],
    ['no key', a('Exists', undefined, null), `${E}.key`],
    ['a key left out', { operator: 'Exists' }, `${E}.key`],
    ['an empty key', a('Exists', undefined, ''), `${E}.key`],
    ['a value that is no text', a('In', ['x', 1]), `${E}.values.1`],
    ['an unknown key in it', { ...a('Exists'), value: 'x' }, `${E}.value`],
    ['one that is none', 'ring', E],
    ['one that is a list', [], E],
  ])('an expression: %s', (_, one, path) => {
    for (const call of ['publish', 'control'] as const) {
      const targets = { matchExpressions: [one] };
      expectNamed(call, `targets.${path}`, [{ targets }]);
    }
  });

  it.each<[what: string, targets: unknown, path: string]>([
    [
      'the second expression',
      { matchExpressions: [a('Exists'), a('Exists', undefined, '$x')] },
      'targets.matchExpressions.1.key',
    ],
    ['expressions that are no list', { matchExpressions: {} }, 'targets.matchExpressions'],
    ['expressions null', { matchExpressions: null }, 'targets.matchExpressions'],
    ['a $ key', { matchLabels: { $platform: ['linux'] } }, 'targets.matchLabels.$platform'],
    ['any $ key', { matchLabels: { $x: ['a'] } }, 'targets.matchLabels.$x'],
    ['an empty label key', { matchLabels: { '': ['a'] } }, 'targets.matchLabels.'],
    ['an empty value list', { matchLabels: { ring: [] } }, 'targets.matchLabels.ring'],
    ['one value, no list', { matchLabels: { ring: 'a' } }, 'targets.matchLabels.ring'],
    ['a label value null', { matchLabels: { ring: null } }, 'targets.matchLabels.ring'],
    ['a value that is no text', { matchLabels: { ring: [1] } }, 'targets.matchLabels.ring'],
    ['labels that are a list', { matchLabels: ['ring'] }, 'targets.matchLabels'],
    ['labels null', { matchLabels: null }, 'targets.matchLabels'],
    ['an unknown part', { matchLabel: {} }, 'targets.matchLabel'],
  ])('%s', (_, targets, path) => {
    expectNamed('publish', path, [{ targets }]);
    expectNamed('control', path, [{ targets }]);
  });

  it.each(BROKEN)('%j is no key and no value', (text) => {
    const labels = (matchLabels: Json) => ({ targets: { matchLabels } });
    for (const call of ['publish', 'control'] as const) {
      expectNamed(call, 'targets.matchLabels', [labels({ [text]: ['a'] })]);
      expectNamed(call, 'targets.matchLabels.ring', [labels({ ring: ['a', text] })]);
      expectNamed(call, `targets.${E}.key`, [expression(a('Exists', undefined, text))]);
      expectNamed(call, `targets.${E}.values.0`, [expression(a('In', [text]))]);
    }
  });
});

describe('what is right is kept as it was given', () => {
  it.each(['https://a.example/b?c=d&e=%20#f', 'http://a.example', 'HTTPS://A.EXAMPLE:8443/b'])(
    'the address %s',
    (url) => {
      const artifacts = [{ platform: 'linux', url }];
      expect(kept('publish', { artifacts }).artifacts).toStrictEqual(artifacts);
    },
  );

  it('the longest address, the largest size, the most artifacts, the longest notes', () => {
    const url = 'https://downloads.example.com/'.padEnd(2048, 'a');
    const artifacts = [0, 1, 2 ** 31, Number.MAX_SAFE_INTEGER].map((size) => ({
      ...{ platform: 'linux', url, size },
    }));
    expect(kept('publish', { artifacts }).artifacts).toStrictEqual(artifacts);
    const most = Array.from({ length: 200 }, (_, index) => ({ platform: `p${index}` }));
    expect(kept('publish', { artifacts: most }).artifacts).toStrictEqual(most);
    for (const notes of LONGEST_NOTES) expect(kept('publish', { notes }).notes).toBe(notes);
  });

  it('a version of 64 characters, and each share from 0 to 100', () => {
    const version = `1.0.0-${'a'.repeat(58)}`;
    expect(kept('publish', { version }).version).toBe(version);
    for (const rollout of [0, 1, 60, 100]) {
      expect(kept('publish', { rollout }).rollout).toBe(rollout);
      expect(kept('control', { rollout }).rollout).toBe(rollout);
    }
  });

  it('what is left out is empty: notes, artifacts and targeting', () => {
    const parsed = parseShape(publishReleaseBody, NAME);
    expect(parsed).toMatchObject({ notes: '', artifacts: [], targets: null, status: 'published' });
    for (const [targets, whole] of [
      [{}, { matchLabels: {}, matchExpressions: [] }],
      [{ matchLabels: { a: ['1', ''] } }, { matchLabels: { a: ['1', ''] }, matchExpressions: [] }],
      [
        { matchExpressions: [{ key: 'a', operator: 'Exists' }] },
        { matchLabels: {}, matchExpressions: [{ key: 'a', operator: 'Exists', values: [] }] },
      ],
    ]) {
      expect(kept('control', { targets }).targets).toStrictEqual(whole);
    }
  });

  // An object that is built key by key loses such a key: the rule would be gone.
  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'the label key %s, which stays a rule',
    (key) => {
      const targets = `{"matchLabels":{"${key}":["x"]},"matchExpressions":[]}`;
      const body = kept('control', { targets: JSON.parse(targets) });
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
    const targets = { matchLabels: { ring: ['a', ''] }, matchExpressions };
    expect(kept('control', { targets }).targets).toStrictEqual(targets);
  });
});
