// Saves a table as CSV: at most 10,000 rows, read page by page, and says if there are more.

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Notice } from '../form/notice.tsx';
import { numberText } from '../format/figure-text.ts';
import { useAction } from '../hook/use-action.ts';

/** Maximum number of rows per file. */
const ROWS_MAX = 10_000;
/** Maximum number of pages that are read for a file, because a page may have no matching row. */
const PAGES_MAX = 100;

type Page<Row> = { readonly rows: readonly Row[]; readonly next: string | null };

/** Button that saves rows. `read` returns the page at a cursor; `more` says how to get the rest. */
export function DownloadButton<Row>(props: {
  name: string;
  read: (after: string | null) => Promise<Page<Row>>;
  csv: (rows: readonly Row[]) => string;
  more: ComponentChildren;
}) {
  const { name, read, csv, more } = props;
  const action = useAction();
  const [cut, setCut] = useState<number>();
  const save = async () => {
    const rows: Row[] = [];
    let after: string | null = null;
    let pages = 0;
    do {
      const page: Page<Row> = await read(after);
      rows.push(...page.rows);
      after = page.next;
      pages += 1;
    } while (after !== null && rows.length < ROWS_MAX && pages < PAGES_MAX);
    setCut(after === null ? undefined : rows.length);
    saveFile(`${name}-${new Date().toISOString().slice(0, 10)}.csv`, csv(rows));
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
      {cut !== undefined && (
        <Notice tone="warn">
          The file has the first {numberText(cut)} rows. {more}
        </Notice>
      )}
      {action.error !== undefined && <Notice tone="bad">{action.error}</Notice>}
    </>
  );
}

function saveFile(name: string, text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
