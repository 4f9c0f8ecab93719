// Tests that all decision records have one form, and that every decision is listed once: with a file, or as
// a line.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readDocument, repositoryPath, tableRows } from './document.ts';

const HEADINGS = ['Context', 'Decision', 'The option that lost', 'Consequences'];

const names = readdirSync(join(repositoryPath, 'docs/decisions'))
  .filter((name) => name !== 'README.md')
  .sort();

describe.each(names)('docs/decisions/%s', (name) => {
  const { text } = readDocument(`docs/decisions/${name}`);

  it('has the four headings, in order, each with a text below', () => {
    const parts = text.split(/^## /m).slice(1);
    expect(parts.map((part) => part.split('\n')[0])).toEqual(HEADINGS);
    for (const part of parts) expect(part.split('\n').slice(1).join('').length).toBeGreaterThan(40);
  });

  it('is listed under its number and title', () => {
    const [, number = '', title = ''] = /^# (\d{4})\. (.+)\n/.exec(text) ?? [];
    expect(name.startsWith(`${number}-`)).toBe(true);
    const list = readDocument('docs/decisions/README.md').text;
    expect(list).toContain(`| [${number}](${name}) | ${title} |`);
  });
});

describe('decisions', () => {
  const list = readDocument('docs/decisions/README.md').text;

  it('are numbered from 1 without a gap: those with a file, and those with a line', () => {
    const listed = tableRows(list).map(([number = '']) =>
      Number(number.replace(/^\[?(\d{4}).*/, '$1')),
    );
    expect(listed.toSorted((a, b) => a - b)).toEqual(listed.map((_, at) => at + 1));
    expect(listed.length).toBeGreaterThan(60);
  });

  it('without a file say what was decided', () => {
    const lines = tableRows(list).filter(([number = '']) => /^\d{4}$/.test(number));
    const found = lines.filter(([number = '']) => names.some((name) => name.startsWith(number)));
    expect(found).toEqual([]);
    for (const [, decided = ''] of lines) expect(decided.length).toBeGreaterThan(40);
  });
});
