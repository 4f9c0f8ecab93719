// Tests how the bodies of DDI clients are read (docs/contract.md 34.8, 34.9 and 34.31 to 34.33): rows in the
// form in which each client writes them, and properties for whatever else is sent.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { refuseLabel } from '../../src/domain/fleet/labels.ts';
import { type Feedback, readAttributes, readFeedback } from '../../src/updater/ddi-body.ts';

const KEYS = ['platform', 'arch', 'version', 'bundle'];

function attributesIn(body: string): Record<string, string> | undefined {
  const { attributes, isReadable } = readAttributes(body, KEYS);
  return isReadable ? Object.fromEntries(attributes) : undefined;
}

/** Body of attributes with these names, each with its name for a value. */
function named(names: readonly string[]): string {
  return JSON.stringify({ data: Object.fromEntries(names.map((name) => [name, name])) });
}

const MANY = Array.from({ length: 20 }, (_, index) => `key-${String(index).padStart(2, '0')}`);

describe('configData', () => {
  it.each<[what: string, body: string, expected: Record<string, string> | undefined]>([
    [
      'of SWUpdate',
      '{ "id": "", "time": "20260730T101500", "status": { "result": { "finished": "success" }, ' +
        '"execution": "closed", "details" : [ "" ] }, "data" : { "version": "1.4.0","board": "gw" } }',
      { version: '1.4.0', board: 'gw' },
    ],
    [
      'of rauc-hawkbit-updater',
      '{"mode":"merge","data":{"product":"Gateway","serial":"7"},"status":{"execution":"closed"}}',
      { product: 'Gateway', serial: '7' },
    ],
    ['without attributes', '{"data":{}}', {}],
    [
      'with numbers and truth values',
      '{"data":{"n":1.5,"t":true,"f":false}}',
      { n: '1.5', t: 'true', f: 'false' },
    ],
    ['with what is no text', '{"data":{"a":null,"b":[1],"c":{},"d":1e999,"e":"x"}}', { e: 'x' }],
    ['with an empty value, which is one', '{"data":{"a":""}}', { a: '' }],
    [
      'with what is no label',
      JSON.stringify({
        data: {
          '': 'x',
          $version: 'x',
          nul: '\0',
          half: '\ud800',
          a: 'x'.repeat(257),
          ['k'.repeat(129)]: 'x',
          b: 'y',
        },
      }),
      { b: 'y' },
    ],
    [
      'with a name that objects have',
      '{"data":{"__proto__":"x","constructor":"y"}}',
      JSON.parse('{"__proto__":"x","constructor":"y"}'),
    ],
    [
      'of SWUpdate with a quotation mark in a value, which is no JSON',
      '{ "id": "", "data" : {  "note": "the "best" board","version": "1.3.0" } }',
      undefined,
    ],
    ['with a list for data', '{"data":[]}', undefined],
    ['with null for data', '{"data":null}', undefined],
    ['without data', '{"mode":"merge"}', undefined],
    ['in a list', '[{"data":{}}]', undefined],
    ['that is empty', '', undefined],
    ['that breaks off', '{"data":{"a":"x"', undefined],
  ])('%s (§34.8, §34.9)', (_what, body, expected) => {
    expect(attributesIn(body)).toEqual(expected);
  });

  it('of more than 16 keeps those that the settings name, then the lowest names (§34.9)', () => {
    const kept = Object.keys(
      attributesIn(named(['zone', ...MANY.toReversed(), 'version', 'platform'])) ?? {},
    );
    expect(kept.toSorted()).toEqual([...MANY.slice(0, 14), 'platform', 'version']);
    expect(readAttributes(named(MANY), MANY.toReversed()).attributes.size).toBe(16);
  });

  it('what is no label takes no place of another', () => {
    const data = { ...Object.fromEntries(MANY.map((name) => [name, null])), zone: 'x' };
    expect(attributesIn(JSON.stringify({ data }))).toEqual({ zone: 'x' });
  });

  it('is read whatever it is, into labels', () => {
    const value = fc.oneof(fc.string({ unit: 'binary' }), fc.jsonValue());
    const data = fc.dictionary(fc.string({ unit: 'binary' }), value, { maxKeys: 40 });
    const body = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      data.map((attributes) => JSON.stringify({ data: attributes })),
    );
    fc.assert(
      fc.property(body, (text) => {
        const { attributes } = readAttributes(text, KEYS);
        expect(attributes.size).toBeLessThanOrEqual(16);
        for (const [key, label] of attributes) expect(refuseLabel(key, key, label)).toBeUndefined();
      }),
    );
  });
});

/** Report in the form of SWUpdate, which pastes its texts between quotation marks as they are. */
function ofSwupdate(finished: string, execution: string, ...texts: readonly string[]): string {
  const details = texts.map((text) => `"${text}"`).join(',') || ' ';
  return (
    `{ "id": 151, "time": "20260730T101500", "status": { "result": { "progress": { "cnt" : 1, "of" : 2 }, ` +
    `"finished": "${finished}" }, "execution": "${execution}", "details" : [ ${details} ] } }`
  );
}

function told({ execution, result, reason }: Feedback): string {
  return [execution ?? '-', result, ...(reason === undefined ? [] : [reason])].join(' ');
}

const SUM = "ERROR : Checksum does not match: Should be 'ab', but actually is 'cd'.";
const RAUC = (finished: string, execution: string, text: string) =>
  JSON.stringify({
    ...{ id: '151', time: '20260730T101500' },
    status: { result: { finished }, execution, details: [text] },
  });
const FAILED = '"status":{"execution":"closed","result":{"finished":"failure"}';

describe('feedback', () => {
  it.each<[what: string, body: string, expected: string]>([
    [
      'progress of SWUpdate',
      ofSwupdate('none', 'proceeding', 'Installed Chunk.'),
      'proceeding progress',
    ],
    ['success of SWUpdate', ofSwupdate('success', 'closed', 'Update Installed.'), 'closed success'],
    ['a failure without words', ofSwupdate('failure', 'closed'), 'closed failure'],
    [
      'the last of several words',
      ofSwupdate('failure', 'closed', 'one', 'two'),
      'closed failure two',
    ],
    ['a raw line feed', ofSwupdate('failure', 'closed', `${SUM}\n`), `closed failure ${SUM}`],
    [
      'a raw line feed between words',
      ofSwupdate('failure', 'closed', 'ERROR : one\ntwo\r\n\tthree'),
      'closed failure ERROR : one two three',
    ],
    [
      'raw quotation marks',
      ofSwupdate(
        'failure',
        'closed',
        'ERROR : no "files" in "sw-description"',
        'ERROR : "gateway"',
      ),
      'closed failure ERROR : "gateway"',
    ],
    [
      'brackets, commas and backslashes among raw quotation marks',
      ofSwupdate('failure', 'closed', '[read_lines] : "a", b "]" c "} \\x'),
      'closed failure [read_lines] : "a", b "]" c "} \\x',
    ],
    [
      'no words behind a line feed',
      ofSwupdate('failure', 'closed', 'one', '\n'),
      'closed failure one',
    ],
    [
      'a broken success, whose words are no reason',
      ofSwupdate('success', 'closed', 'a "b" c'),
      'closed success',
    ],
    ['a broken cancel', ofSwupdate('success', 'canceled', 'a "b" c'), 'canceled progress'],
    [
      'a failure of rauc-hawkbit-updater',
      RAUC('failure', 'closed', 'Failed: "x"'),
      'closed failure Failed: "x"',
    ],
    [
      'progress of rauc-hawkbit-updater',
      RAUC('none', 'proceeding', 'Installing'),
      'proceeding progress',
    ],
    [
      'an answer of Zephyr',
      '{"id":"151","status":{"result":{"finished":"success"},"execution":"closed"}}',
      'closed success',
    ],
    ['a failure that is only told', RAUC('failure', 'proceeding', 'x'), 'proceeding progress'],
    ['a refusal', RAUC('failure', 'rejected', 'x'), 'rejected progress'],
    ['closed without a result', '{"status":{"execution":"closed"}}', 'closed success'],
    ['closed with a result of its own', RAUC('perhaps', 'closed', 'x'), 'closed success'],
    ['an execution that is no text', '{"status":{"execution":1}}', '- progress'],
    ['no execution, in JSON', '{"execution":"closed"}', '- progress'],
    ['no execution, in what is no JSON', '{"finished": "failure", }', '- progress'],
    ['an execution without an end', '{"execution": "closed', '- progress'],
    [
      'a name before the execution',
      '{"x": "execution", "execution" : "closed", }',
      'closed success',
    ],
    ['one without a text before it', '{"execution": 1, "execution": "closed", }', 'closed success'],
    ['words for a list', `{${FAILED},"details":"x"}}`, 'closed failure x'],
    ['a list of other things', `{${FAILED},"details":[1,"x",{"y":"z"},null]}}`, 'closed failure x'],
    ['words that break off', `{${FAILED},"details":["x", "y`, 'closed failure y'],
    ['details that break off', `{${FAILED},"details":`, 'closed failure'],
    [
      'escapes in what is no JSON',
      `{${FAILED},"details":["\\"\\u0061\\/\\q"],}}`,
      'closed failure "a/\\q',
    ],
    ['nothing', '', '- progress'],
  ])('%s (§34.31, §34.32)', (_what, body, expected) => {
    expect(told(readFeedback(body))).toBe(expected);
  });

  it('a reason has 256 characters, none of which is a control character or half of one (§34.33)', () => {
    const reasonOf = (text: string) => readFeedback(RAUC('failure', 'closed', text)).reason;
    expect(reasonOf(`${'😀'.repeat(300)}`)).toBe('😀'.repeat(256));
    expect(reasonOf('\0a\u0085\u007f\tb\ud800')).toBe('a b\ufffd');
  });

  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom(
      'closed',
      'failure',
      'success',
      'proceeding',
      'execution',
      '"finished": "x"',
      '\\',
    ),
    fc
      .array(fc.constantFrom('"', '\\', ']', '[', '}', ',', ':', ' ', '\n', 'details', 'execution'))
      .map((parts) => parts.join('')),
  );
  const often = (usual: string) => fc.oneof({ weight: 4, arbitrary: fc.constant(usual) }, text);
  const report = fc
    .record({
      ...{ execution: often('closed'), finished: often('failure'), details: fc.array(text) },
      ...{ isFirst: fc.boolean(), space: fc.constantFrom(0, 2) },
    })
    .map(({ execution, finished, details, isFirst, space }) => {
      const [rest, words] = [{ execution, result: { finished } }, { details }];
      const status = isFirst ? { ...words, ...rest } : { ...rest, ...words };
      return JSON.stringify({ id: '1', status }, null, space);
    });

  it('is read whatever it is', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: 'binary' }), fc.json(), report),
        fc.nat(),
        (body, length) => {
          for (const sent of [body, body.slice(0, length % (body.length + 1))]) {
            const { result, reason } = readFeedback(sent);
            expect(['success', 'failure', 'progress']).toContain(result);
            expect(reason ?? 'x').toMatch(/^\P{Cc}{1,512}$/u);
          }
        },
      ),
    );
  });

  it('valid JSON tells the same where it is read as what is none (§34.32)', () => {
    fc.assert(
      fc.property(report, (body) => {
        expect(readFeedback(`x${body}`)).toEqual(readFeedback(body));
      }),
      { numRuns: 1000 },
    );
  });

  it('a body of 1 MiB is read in time that grows as it does: a quadratic scan would not end', () => {
    const parts = [
      '"',
      '"execution":',
      '"execution" ',
      '"details":["',
      '" , ',
      '"]',
      '\\"',
      '"x" ',
      ' ',
      '","',
      '"\n',
    ];
    const failed = '"execution":"closed","finished":"failure","details":[';
    for (const part of parts) {
      const rest = part.repeat(1_048_576 / part.length);
      readFeedback(rest);
      expect(readFeedback(`${failed}${rest}`).result).toBe('failure');
    }
    const names = Array.from({ length: 80_000 }, (_, index) => `k${99_999 - index}`);
    expect(readAttributes(named(names), KEYS).attributes.size).toBe(16);
  });
});
