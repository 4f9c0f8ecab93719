// Tests that docs/architecture.md describes exactly the folders that exist.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { quotedIn, readDocument, repositoryPath, sectionOf, tableRows } from './document.ts';

it('every folder of src is a row of the table of rooms, and every row a folder', () => {
  const rooms = readdirSync(join(repositoryPath, 'src'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  const section = sectionOf(readDocument('docs/architecture.md'), 'The rooms');
  const described = tableRows(section).flatMap(([room = '']) => quotedIn(room));
  expect(described.toSorted()).toEqual(rooms.toSorted());
});
