// Bounds of the house: how many rooms and imports between them there are, and how full a folder may be; and
// docs/architecture.md describes exactly the rooms that exist.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readHouse } from '../scripts/rooms.ts';
import { quotedIn, readDocument, repositoryPath, sectionOf, tableRows } from './docs/document.ts';

const ROOMS_MAX = 19;
const ARROWS_MAX = 95;
const FOLDER_FILES_MAX = 20;
/**
 * Folders that import each other: the ledger's calls are declared by its implementation, whose type alone is
 * imported; a decision takes its rules from a folder, and each rule reads the terms of decisions.
 */
const CIRCLES = [
  /^store,store\/ledger(?:,store\/ledger\/\w+)*$/,
  /^domain\/decision,domain\/decision\/rule$/,
];

describe('the house', () => {
  const { rooms, arrows, circles, files } = readHouse();

  it('has few rooms, and few imports between them', () => {
    expect(rooms.length).toBeLessThanOrEqual(ROOMS_MAX);
    expect(arrows.length).toBeLessThanOrEqual(ARROWS_MAX);
  });

  it('has no folders that import each other, but those that are named', () => {
    const unnamed = circles.filter((circle) => !CIRCLES.some((each) => each.test(circle.join())));
    expect(unnamed).toEqual([]);
  });

  it('has no folder that is too full to be looked over', () => {
    expect([...files].filter(([, count]) => count > FOLDER_FILES_MAX)).toEqual([]);
  });

  it('has every folder as a row of the table of rooms, and every row a folder', () => {
    const rooms = readdirSync(join(repositoryPath, 'src'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
    const section = sectionOf(readDocument('docs/architecture.md'), 'The rooms');
    const described = tableRows(section).flatMap(([room = '']) => quotedIn(room));
    expect(described.toSorted()).toEqual(rooms.toSorted());
  });
});
