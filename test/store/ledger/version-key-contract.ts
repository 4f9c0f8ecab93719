// Rule of the text by which the database orders versions.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareVersions } from '../../../src/domain/decision/version.ts';
import { version } from '../../domain/sample.ts';
import { VERSIONS } from './signal-model.ts';
import type { LedgerUnderTest } from './test-database.ts';

export function describeVersionKeys({ database }: LedgerUnderTest): void {
  test('the database orders versions as the service does', async () => {
    const texts = [...fc.sample(anyVersionText, { numRuns: 600, seed: 1 }), ...VERSIONS];
    const versions = texts.map(version);
    const rows = await database.query<{ key: string }>(
      `SELECT version_key(text) AS key FROM unnest($1::text[]) WITH ORDINALITY AS given (text, place)
       ORDER BY place`,
      [versions.map(({ canonical }) => canonical)],
    );
    const keys = rows.map(({ key }) => key);
    const wrong: unknown[] = [];
    for (let index = 0; index < 100_000; index++) {
      const [left, right] = [index % texts.length, (index * 7919) % texts.length];
      const [one, other] = [keys[left] ?? '', keys[right] ?? ''];
      const order = one < other ? -1 : one > other ? 1 : 0;
      const due = Math.sign(compareVersions(versions[left] as never, versions[right] as never));
      if (order !== due) wrong.push([texts[left], texts[right], order]);
    }
    expect(wrong).toEqual([]);
  });
}

const anyDigits = fc.oneof(
  fc.nat(3).map(String),
  fc.constantFrom('00', '01', '10', '99', '100', '123456789012345678'),
);
const anyIdentifiers = fc.option(
  fc.array(fc.oneof(anyDigits, fc.constantFrom('a', 'a-', 'A', 'ab', 'rc', '-', '0a')), {
    ...{ minLength: 1, maxLength: 3 },
  }),
);
const anyVersionText = fc
  .record({
    parts: fc.array(anyDigits, { minLength: 1, maxLength: 4 }),
    prerelease: anyIdentifiers,
    build: anyIdentifiers,
  })
  .map(
    ({ parts, prerelease, build }) =>
      parts.join('.') +
      (prerelease === null ? '' : `-${prerelease.join('.')}`) +
      (build === null ? '' : `+${build.join('.')}`),
  )
  .filter((text) => text.length <= 64);
