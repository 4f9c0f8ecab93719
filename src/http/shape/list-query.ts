// The query of the release list. It has no wrong values: what makes no sense is the default.

import { LIMIT } from '../../contract/limit.ts';
import type { ReleaseFilter } from '../../ports/ledger.ts';
import { isStorable } from './field.ts';

/** Pages beyond this are empty in any case; the bound keeps the offset an integer for the database. */
const PAGE_MAX = 1_000_000_000;

/** Reads `app`, `channel`, `page` and `per_page`. */
export function readListQuery(queryText: string): ReleaseFilter {
  const query = new URLSearchParams(queryText);
  return {
    app: readFilter(query.get('app')),
    channel: readFilter(query.get('channel')),
    page: readNumber(query.get('page'), 1, PAGE_MAX),
    perPage: readNumber(query.get('per_page'), LIMIT.perPageDefault, LIMIT.perPageMax),
  };
}

function readFilter(value: string | null): string | undefined {
  if (value === null || value === '') return undefined;
  // U+FFFD is in no name: what cannot be stored filters everything out instead of being ignored.
  return isStorable(value) ? value : '\ufffd';
}

function readNumber(value: string | null, fallback: number, max: number): number {
  if (value === null || value.trim() === '') return fallback;
  const number = Math.trunc(Number(value));
  if (Number.isNaN(number)) return fallback;
  return Math.min(Math.max(number, 1), max);
}
