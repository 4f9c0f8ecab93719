// Button that saves the audit, as it is filtered, as a file.

import { useState } from 'preact/hooks';
import { LIMIT } from '../../contract/limit.ts';
import type { AuditEntry } from '../../contract/resource.ts';
import { call } from '../api/call.ts';
import { auditCsv } from '../format/audit-csv.ts';
import { numberText } from '../format/number-text.ts';
import { type QueryValue, queryText } from '../format/query-text.ts';
import { useAction } from '../hook/use-action.ts';
import { Notice } from '../part/notice.tsx';

/** Maximum number of entries in one file; the rest is saved with another range of days. */
const ENTRIES_MAX = 10_000;

/** Button for the newest entries that fit the filter. */
export function AuditDownload({ filter }: { filter: Readonly<Record<string, QueryValue>> }) {
  const action = useAction();
  const [isCut, setCut] = useState(false);
  const save = async () => {
    const { entries, isWhole } = await readAll(filter);
    setCut(!isWhole);
    saveFile(`audit-${new Date().toISOString().slice(0, 10)}.csv`, auditCsv(entries));
  };
  return (
    <>
      <button
        type="button"
        class="button plain"
        disabled={action.isBusy}
        onClick={() => void action.run(save)}
      >
        Save as CSV
      </button>
      {isCut && (
        <Notice tone="warn">
          The file has the newest {numberText(ENTRIES_MAX)} entries. Choose fewer days for the rest.
        </Notice>
      )}
      {action.error !== undefined && <Notice tone="bad">{action.error}</Notice>}
    </>
  );
}

async function readAll(filter: Readonly<Record<string, QueryValue>>) {
  const entries: AuditEntry[] = [];
  let before: string | null = null;
  do {
    const query = queryText({ ...filter, before, limit: LIMIT.auditEntriesMax });
    const page: { entries: readonly AuditEntry[]; next: string | null } = await call(
      'GET',
      `audit${query}`,
    );
    entries.push(...page.entries);
    before = page.next;
  } while (before !== null && entries.length < ENTRIES_MAX);
  return { entries, isWhole: before === null };
}

function saveFile(name: string, text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
