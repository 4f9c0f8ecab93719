// Tests that every paragraph that code and tests cite exists in the documents.

import { describe, expect, it } from 'vitest';
import { filesBelow, readDocument } from './document.ts';

const sources = filesBelow('src', 'test', 'bench', 'scripts').filter(
  ({ path }) => /\.(?:tsx?|sql|lua|mjs)$/.test(path) && path !== 'test/docs/contract.test.ts',
);

/** A section or paragraph of the contract, such as 4, 4.7 or 4.7.4. */
const NUMBER = String.raw`\d{1,2}(?:\.\d{1,2}){0,2}`;
const SECTION_SIGN = new RegExp(`§(${NUMBER})`, 'g');
/** A citation in a comment: a list of numbers behind the document's name, which may break the line. */
const IN_COMMENT = new RegExp(
  String.raw`docs/contract\.md[\s/]+(${NUMBER}(?:(?:,|,? and| to)[\s/]+${NUMBER})*)`,
  'g',
);
const OF_ANOTHER_DOCUMENT = /\b(console|clients|github)\.md, ([A-Z][^)\n]*)\)/g;

const { text: contract } = readDocument('docs/contract.md');
const numbers = new Set(markedNumbers(contract));

describe('the contract', () => {
  it('gives each number to one section or paragraph, in ascending order', () => {
    const all = [...numbers];
    expect(all).toEqual([...all].sort(compareNumbers));
    expect(all).toHaveLength(markedNumbers(contract).length);
  });

  it('has the sections that clients were told of, under their numbers', () => {
    const titles = [...contract.matchAll(/^## (\d+\. .*)$/gm)].map((match) => match[1]);
    expect(titles.slice(0, 9)).toEqual([
      ...['1. What the service does', '2. Resources', '3. States and transitions', '4. Endpoints'],
      ...['5. Authentication', '6. Events', '7. Errors', '8. Limits', '9. Versioning'],
    ]);
  });
});

describe('a citation', () => {
  it('of the contract names a section or paragraph that exists', () => {
    const citations = sources.flatMap(({ path, text }) =>
      numbersCited(text).map((number) => ({ path, number })),
    );
    expect(citations.filter(({ number }) => !numbers.has(number))).toEqual([]);
    expect(citations.length).toBeGreaterThan(200);
  });

  it('of another document names one of its headings', () => {
    const named = sources.flatMap(({ text }) => [
      ...text.replaceAll('\n// ', ' ').matchAll(OF_ANOTHER_DOCUMENT),
    ]);
    for (const [, document, heading] of named) {
      expect(readDocument(`docs/${document}.md`).text).toContain(`\n## ${heading}\n`);
    }
    expect(named.length).toBeGreaterThan(0);
  });

  it.each([
    ["it('the bucket is stable (§13.7, §4)', …", ['13.7', '4']],
    ['// Pins the order (docs/contract.md 13.1 to 13.5).', ['13.1', '13.5']],
    ['// Kept (docs/contract.md 4.7.4,\n// 13.11 and 13.12): all.', ['4.7.4', '13.11', '13.12']],
  ])('is found in %j', (text, expected) => {
    expect(numbersCited(text)).toEqual(expected);
  });
});

/** Headings (`## 4. …`, `### 4.7 …`) and numbered paragraphs (`**4.7.4** …`). */
function markedNumbers(markdown: string): string[] {
  const marks = new RegExp(String.raw`^(?:#{2,3} (${NUMBER})\.? |\*\*(${NUMBER})\*\* )`, 'gm');
  return [...markdown.matchAll(marks)].map((match) => match[1] ?? match[2] ?? '');
}

function compareNumbers(left: string, right: string): number {
  const [a, b] = [left, right].map((text) => text.split('.').map(Number)) as [number[], number[]];
  const at = a.findIndex((part, index) => part !== b[index]);
  return at === -1 ? a.length - b.length : (a[at] ?? 0) - (b[at] ?? -1);
}

function numbersCited(text: string): string[] {
  const signed = [...text.matchAll(SECTION_SIGN)].map((match) => match[1] ?? '');
  const listed = [...text.matchAll(IN_COMMENT)].flatMap((match) =>
    [...(match[1] ?? '').matchAll(new RegExp(NUMBER, 'g'))].map((found) => found[0]),
  );
  return [...signed, ...listed];
}
