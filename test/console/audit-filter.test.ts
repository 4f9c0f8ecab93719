// Tests the filters of the audit in the words of the page.

import { describe, expect, it } from 'vitest';
import { auditFilter, DEED_WORDS, deedOf } from '../../src/console/format/audit-log.ts';

describe('auditFilter', () => {
  it('takes whole days in the zone of the reader', () => {
    const { since, until } = auditFilter({ from: '2026-03-28', to: '2026-03-29' });
    expect(since).toBe(new Date(2026, 2, 28).toISOString());
    expect(until).toBe(new Date(2026, 2, 30).toISOString());
  });

  it.each(['', 'yesterday', '2026-3-1', '2026-03-01T00:00:00Z'])(
    'filters nothing by %j',
    (from) => {
      expect(auditFilter({ from })).toMatchObject({ since: undefined, until: undefined });
    },
  );
});

describe('deedOf', () => {
  it('each choice is told from all others, and found again', () => {
    expect(new Set(DEED_WORDS.map(({ value }) => value)).size).toBe(DEED_WORDS.length);
    for (const { value, action = '', did = '' } of DEED_WORDS) {
      expect(deedOf({ action, did })).toBe(value);
    }
    expect(deedOf({ action: 'something.else' })).toBe('');
  });
});
