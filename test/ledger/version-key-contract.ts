// Rule of the text by which the database orders versions, run unchanged on every database.

import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compareVersions } from '../../src/domain/decision/version.ts';
import { migrate } from '../../src/ledger/migrate.ts';
import { version } from '../domain/sample.ts';
import { VERSIONS } from './signal-model.ts';
import type { TestDatabase } from './test-database.ts';

/** Declares the suite; `open` gives an empty database. */
export function describeVersionKeys(name: string, open: () => Promise<TestDatabase>): void {
  describe(`version keys on ${name}`, () => {
    let opened: TestDatabase;

    beforeAll(async () => {
      opened = await open();
      await migrate(opened.database);
    });
    afterAll(() => opened?.dispose());

    test('the database orders versions as the service does', async () => {
      const texts = [...fc.sample(anyVersionText, { numRuns: 1500, seed: 1 }), ...VERSIONS];
      const versions = texts.map(version);
      const rows = await opened.database.query<{ key: string }>(
        `SELECT version_key(text) AS key FROM unnest($1::text[]) WITH ORDINALITY AS given (text, place)
         ORDER BY place`,
        [versions.map(({ canonical }) => canonical)],
      );
      const keys = rows.map(({ key }) => key);
      for (let index = 0; index < 200_000; index++) {
        const [left, right] = [index % texts.length, (index * 7919) % texts.length];
        const [one, other] = [keys[left] ?? '', keys[right] ?? ''];
        const order = one < other ? -1 : one > other ? 1 : 0;
        expect([texts[left], texts[right], order]).toEqual([
          ...[texts[left], texts[right]],
          Math.sign(compareVersions(versions[left] as never, versions[right] as never)),
        ]);
      }
    });
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
