// Audit of an organization: all changes with actor and time, and a button that saves the filtered entries.

import { useLocation } from 'preact-iso';
import { LIMIT } from '../../contract/limit.ts';
import { call } from '../api/call.ts';
import { Choice, Field } from '../form/field.tsx';
import { FilterForm, useDraft } from '../form/form.tsx';
import { LoadedView, Notice } from '../form/notice.tsx';
import { auditCsv, auditFilter, DEED_WORDS, deedOf, unreadableDays } from '../format/audit-log.ts';
import { consolePath, type QueryValue, queryText } from '../format/console-path.ts';
import { useLoad } from '../hook/use-load.ts';
import { Empty } from '../part/card.tsx';
import { DownloadButton } from '../part/download.tsx';
import { PageHead, useTitle } from '../part/page-head.tsx';
import { useOrganization } from '../session/use-session.ts';
import { AuditEntryView } from './audit-entry.tsx';

const PAGE_SIZE = 50;
const REFRESH_MS = 10_000;

/** Audit page; filters and position are query parameters. */
export function AuditPage() {
  useTitle('Audit');
  const { id: org } = useOrganization();
  const { query } = useLocation();
  const { before } = query;
  const filter = { org, ...auditFilter(query) };
  const entries = useLoad(
    `audit${queryText({ ...filter, before, limit: PAGE_SIZE })}`,
    before === undefined ? REFRESH_MS : 0,
  );
  return (
    <>
      <PageHead
        title="Audit"
        lead="Every change, newest first."
        actions={<AuditDownload filter={filter} />}
      />
      <section class="card flush" aria-label="Changes">
        <AuditFilters query={query} />
        {unreadableDays(query).map((text) => (
          <Notice key={text} tone="warn">
            “{text}” is no day like 2026-01-31: this filter is left out.
          </Notice>
        ))}
        <LoadedView of={entries}>
          {(page) => (
            <>
              {page.entries.length === 0 ? (
                <Empty
                  title="No change fits"
                  link={{ href: consolePath.audit, text: 'Clear filters' }}
                />
              ) : (
                <ol class="audit padded stack">
                  {page.entries.map((entry) => (
                    <AuditEntryView key={entry.id} entry={entry} />
                  ))}
                </ol>
              )}
              <Pager query={query} next={page.next} />
            </>
          )}
        </LoadedView>
      </section>
    </>
  );
}

function AuditFilters({ query }: { query: Record<string, string> }) {
  const { route } = useLocation();
  const { draft, field } = useDraft(query);
  const apply = (changed: Record<string, string | undefined>) =>
    route(`${consolePath.audit}${queryText({ ...changed, before: undefined })}`);
  return (
    <FilterForm label="Filter changes" onApply={() => apply(draft)}>
      <Field label="Who" {...field('actor')} />
      <Choice
        label="What was done"
        value={deedOf(query)}
        options={DEED_WORDS.map(({ value, label }) => ({ value, label }))}
        onChoose={(chosen) => {
          const { action, did } = DEED_WORDS.find(({ value }) => value === chosen) ?? {};
          apply({ ...draft, action, did });
        }}
      />
      <Field label="To what" placeholder="app/channel@1.0.0" isCode {...field('subject')} />
      <Field label="From" type="date" {...field('from')} />
      <Field label="Until" type="date" {...field('to')} />
    </FilterForm>
  );
}

function Pager({ query, next }: { query: Record<string, string>; next: string | null }) {
  if (next === null && query.before === undefined) return null;
  const to = (before?: string) => `${consolePath.audit}${queryText({ ...query, before })}`;
  return (
    <nav class="pager line apart small" aria-label="Pages of the audit">
      {query.before === undefined ? <span /> : <a href={to()}>← Newest</a>}
      {next === null ? <span /> : <a href={to(next)}>Older →</a>}
    </nav>
  );
}

/** Button that saves the newest entries of the filter as CSV. */
function AuditDownload({ filter }: { filter: Readonly<Record<string, QueryValue>> }) {
  const read = async (before: string | null) => {
    const query = queryText({ ...filter, before, limit: LIMIT.auditEntriesMax });
    const { entries, next } = await call('GET', `audit${query}`);
    return { rows: entries, next };
  };
  return (
    <DownloadButton
      name="audit"
      read={read}
      csv={auditCsv}
      more="Choose fewer days for the rest."
    />
  );
}
