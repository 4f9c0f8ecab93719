// Tests that the README stays short and leads to every document.

import { describe, expect, it } from 'vitest';
import { listDocuments, readDocument } from './document.ts';

const LINES_MAX = 200;
const COLUMNS_MAX = 120;

const { text } = readDocument('README.md');
const lines = text.trimEnd().split('\n');

describe('the README', () => {
  it(`has at most ${LINES_MAX} lines of at most ${COLUMNS_MAX} columns`, () => {
    expect(lines.length).toBeLessThanOrEqual(LINES_MAX);
    expect(lines.filter((line) => [...line].length > COLUMNS_MAX)).toEqual([]);
  });

  it.each(['npm ci && npm start', 'npm ci && npm test'])('has the command `%s`', (command) => {
    expect(lines).toContain(`    ${command}`);
  });

  it('leads to every document', () => {
    const others = listDocuments().filter(({ path }) => path !== 'README.md');
    const single = others.filter(({ path }) => !/^docs\/decisions\/\d/.test(path));
    const missing = single.filter(({ path }) => !text.includes(`](${path})`));
    expect(missing.map(({ path }) => path)).toEqual([]);
  });
});

describe('every document', () => {
  it.each(listDocuments())(`$path has prose of at most ${COLUMNS_MAX} columns`, (document) => {
    // Tables and code cannot be wrapped.
    const prose = document.text.replace(/^ *```.*?^ *```$/gms, '').split('\n');
    const wrapped = prose.filter((line) => !/^(?:\||\s{4}|!\[)/.test(line));
    expect(wrapped.filter((line) => [...line].length > COLUMNS_MAX)).toEqual([]);
  });
});
