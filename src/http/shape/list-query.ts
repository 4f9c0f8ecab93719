// Query of the release list. No value is refused: a value that makes no sense is replaced by the default.

import { LIMIT } from '../../contract/limit.ts';
import { isStorable } from '../../contract/text.ts';
import { parseVersion } from '../../domain/decision/version.ts';
import type { ReleaseFilter } from '../../store/ledger.ts';
import { withPlus } from './field.ts';

/**
 * Maximum page number. Pages beyond it are always empty; the bound keeps the database's offset an integer.
 */
const PAGE_MAX = 1_000_000_000;

/** Reads `app`, `channel`, `version`, `status`, `page` and `per_page`. */
export function readListQuery(queryText: string): ReleaseFilter {
  const query = new URLSearchParams(queryText);
  return {
    app: readFilter(query.get('app')),
    channel: readFilter(query.get('channel')),
    version: canonicalOf(readFilter(query.get('version'))),
    status: readFilter(query.get('status')),
    page: readNumber(query.get('page'), 1, PAGE_MAX),
    perPage: readNumber(query.get('per_page'), LIMIT.perPageDefault, LIMIT.perPageMax),
  };
}

function readFilter(value: string | null): string | undefined {
  if (value === null || value === '') return undefined;
  // No name contains U+FFFD: a value that cannot be stored matches nothing instead of being ignored.
  return isStorable(value) ? value : '\ufffd';
}

/** Returns the canonical form; what is no version stays, and no release has it. */
function canonicalOf(version: string | undefined): string | undefined {
  return version && (parseVersion(withPlus(version))?.canonical ?? version);
}

function readNumber(value: string | null, fallback: number, max: number): number {
  if (value === null || value.trim() === '') return fallback;
  const number = Math.trunc(Number(value));
  if (Number.isNaN(number)) return fallback;
  return Math.min(Math.max(number, 1), max);
}
