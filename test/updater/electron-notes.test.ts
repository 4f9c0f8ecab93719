// Tests that an update file stays one document with the same content, whatever stands in notes and addresses.
// It is read back by the YAML parser that is in electron-updater (js-yaml 4), and by a newer one.

import { createRequire } from 'node:module';
import fc from 'fast-check';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { isFailure } from '../../src/contract/failure.ts';
import { planUpdate } from '../../src/domain/decision/plan.ts';
import { ELECTRON } from '../../src/updater/electron.ts';
import { catalog, release, SILENT_CLIENT } from '../domain/sample.ts';

type Parse = { load(text: string): unknown };

const updater = createRequire(createRequire(import.meta.url).resolve('electron-updater'));
const olderYaml = updater('js-yaml') as Parse;

const HOSTILE = [
  '<script>alert(1)</script>',
  ']]> --> */ {{ }} %YAML 1.2',
  '---\nversion: 9.9.9\n...\n',
  'a: b\n- 1.10\n- 2026-01-02\n\ttab',
  `controls ${String.fromCharCode(...Array.from({ length: 32 }, (_, code) => code))}\u007f\u0085\u2028`,
  'right-to-left \u202e\u2066 marks, \ufeff, \ufffe, \ud83d\ude00',
  '"quoted" \'twice\' \\ backslash',
  ' leading and trailing \n\n\n',
  '*alias &anchor !tag | > % @ `',
  `# ${'**bold** [link](https://example.com) '.repeat(7000)}`,
];

function fileWith(notes: string): string {
  const artifacts = [
    { platform: 'windows', url: 'https://example.com/a.exe', sha512: `${'a'.repeat(86)}==` },
  ];
  const question = ELECTRON.ask({ channel: 'stable', file: 'latest.yml' }, SILENT_CLIENT);
  if (isFailure(question)) throw new Error(question.message);
  const served = catalog([release('1.10.0', { notes, artifacts })]);
  const list = question.candidates(served);
  const [candidate] = list;
  if (candidate === undefined) throw new Error('the release is not in the file');
  const plan = planUpdate(served, { ...question, version: undefined }, list);
  return ELECTRON.offer(plan, candidate).toString('utf8');
}

function expectRead(notes: string): void {
  const text = fileWith(notes);
  for (const parser of [olderYaml.load, load]) {
    expect(parser(text)).toMatchObject({ version: '1.10.0', releaseNotes: notes });
  }
}

describe('an update file', () => {
  it.each(HOSTILE)('is read back with its notes (%#)', (notes) => expectRead(notes));

  it('is read back with any notes', () => {
    const notes = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 400 });
    fc.assert(fc.property(notes, expectRead), { numRuns: 300 });
    const binary = fc.string({ unit: 'binary', minLength: 1, maxLength: 400 });
    fc.assert(fc.property(binary, expectRead), { numRuns: 300 });
  });
});
