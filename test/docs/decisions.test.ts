// Tests that all decision records have one form and are listed.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readDocument, repositoryPath } from './document.ts';

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
  it('are numbered from 1 without a gap', () => {
    expect(names.map((name) => Number(name.slice(0, 4)))).toEqual(names.map((_, at) => at + 1));
  });
});
