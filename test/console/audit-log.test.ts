// Tests the audit as a log: its filters, the differences of an entry, and its table for other programs.

import { describe, expect, it } from 'vitest';
import {
  auditCsv,
  auditDifference,
  auditFilter,
  auditLink,
  DEED_WORDS,
  deedOf,
  fieldText,
  unreadableDays,
} from '../../src/console/format/audit-log.ts';
import type { AuditEntry } from '../../src/contract/resource.ts';

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

it('what is no day is told, and a day that is left out is not', () => {
  expect(unreadableDays({ from: 'garbage', to: '2026-01-31' })).toEqual(['garbage']);
  expect(unreadableDays({ from: '', to: '2026-1-1' })).toEqual(['2026-1-1']);
  expect(unreadableDays({})).toEqual([]);
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

describe('the difference of two states', () => {
  it.each([
    [
      'what differs alone, each with where it stands',
      { rolloutPct: 10, status: 'published', targets: { ring: ['a'] } },
      { rolloutPct: 25, status: 'published', targets: { ring: ['a', 'b'] } },
      [
        { path: 'rolloutPct', before: '10', after: '25' },
        { path: 'targets › ring', before: 'a', after: 'a, b' },
      ],
    ],
    ['all of what is new', null, { name: 'ci' }, [{ path: 'name', after: 'ci' }]],
    ['all of what is gone', { name: 'ci' }, null, [{ path: 'name', before: 'ci' }]],
    ['yes and no', { a: false }, { a: true }, [{ path: 'a', before: 'no', after: 'yes' }]],
    ['nothing of equal states', { a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }, []],
    [
      'a value that became another kind of value as one value',
      ...[{ a: 'x' }, { a: { b: 1 } }, [{ path: 'a', before: 'x', after: '{"b":1}' }]],
    ],
    [
      'what appears as a whole, opened',
      ...[{ t: null }, { t: { ring: ['a'] } }, [{ path: 't › ring', after: 'a' }]],
    ],
    [
      'a key like __proto__ as a key',
      ...[{}, JSON.parse('{"__proto__":"x"}'), [{ path: '__proto__', after: 'x' }]],
    ],
  ] as [string, unknown, unknown, unknown[]][])('is %s', (_, before, after, rows) => {
    expect(auditDifference(before, after)).toEqual(rows);
  });

  it('says times and actors in the words of the page', () => {
    const [ends, asked] = auditDifference(null, {
      expiresAt: '2026-12-03T18:11:18.781Z',
      requestedBy: 'account:ann@example.com',
    });
    expect(ends?.after).toMatch(/^Dec 3, 2026, \d{1,2}:\d{2}/);
    expect(asked).toMatchObject({ path: 'requestedBy', after: 'ann@example.com' });
    expect(fieldText('requestedBy')).toBe('asked for by');
  });

  it('is bounded: a document of a thousand values does not become a thousand rows', () => {
    const after = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`k${index}`, 1]));
    const rows = auditDifference({}, after);
    expect(rows).toHaveLength(61);
    expect(rows.at(-1)?.path).toBe('940 more');
  });
});

const ENTRY: AuditEntry = {
  ...{ id: '1', at: '2026-01-02T03:04:05.678Z', actor: 'key:ci', action: 'release.serve' },
  ...{ subject: 'notes/stable@1.0.0', requestId: null, reason: 'slow, "very"\nslow' },
  before: { status: 'published', rolloutPct: 5 },
  after: { status: 'paused', rolloutPct: 5 },
};

it('quotes every cell, also with commas, quotes and line breaks in it', () => {
  expect(auditCsv([ENTRY])).toBe(
    '"at","actor","action","what","subject","reason","before","after","request"\r\n' +
      '"2026-01-02T03:04:05.678Z","key:ci","release.serve","Paused it","notes/stable@1.0.0",' +
      '"slow, ""very""\nslow","{""status"":""published"",""rolloutPct"":5}",' +
      '"{""status"":""paused"",""rolloutPct"":5}",""\r\n',
  );
});

it.each(['=1+1', '+1', '-1', '@sum', '\tx', '\rx'])(
  'a spreadsheet computes nothing of %j',
  (reason) => {
    expect(auditCsv([{ ...ENTRY, reason }])).toContain(`"'${reason}"`);
  },
);

describe('the link of an entry', () => {
  it.each<[action: string, subject: string, after: unknown, link: string | undefined]>([
    ['release.serve', 'notes/stable@1.1.0', {}, '/console/apps/notes/stable/1.1.0'],
    [
      'release.serve',
      'notes/stable@1.1.0+b/7@x',
      {},
      '/console/apps/notes/stable/1.1.0%2Bb%2F7%40x',
    ],
    ['release.withdraw', 'notes/stable@1.1.0', null, '/console/apps/notes/stable'],
    ['channel.update', 'notes/stable', {}, '/console/apps/notes/stable'],
    ['key.create', 'key_1', {}, undefined],
    ['account.sign-in', 'a/b@example.com', {}, undefined],
  ])('%s of %s leads to %s', (action, subject, after, link) => {
    expect(auditLink({ ...ENTRY, action, after, subject })).toBe(link);
  });
});
