// Tests the audit as comma-separated values.

import { expect, it } from 'vitest';
import { auditCsv } from '../../src/console/format/audit-log.ts';
import type { AuditEntry } from '../../src/contract/resource.ts';

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
