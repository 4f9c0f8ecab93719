// What publishers' calls left: times, and the entries of the audit.

import { expect } from 'vitest';
import type { Json } from './tenant.ts';

/** Expects an RFC 3339 time between two others; the database may round milliseconds. */
export function expectWithin(time: unknown, before: number, after: number): void {
  expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(Date.parse(String(time))).toBeGreaterThanOrEqual(before - 1);
  expect(Date.parse(String(time))).toBeLessThanOrEqual(after + 1);
}

/** Expects entries, oldest first, each to begin with the state that the one before it left. */
export function expectChain(entries: Json[]): void {
  for (const [index, entry] of entries.slice(1).entries()) {
    expect(entry.before).toStrictEqual(entries[index]?.after);
  }
}
