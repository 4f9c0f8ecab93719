// Audit of an organization: all changes with their actor and time.

import { useLocation } from 'preact-iso';
import { consolePath } from '../format/console-path.ts';
import { queryText } from '../format/query-text.ts';
import { useDraft } from '../hook/use-draft.ts';
import { useLoad } from '../hook/use-load.ts';
import { useTitle } from '../hook/use-title.ts';
import { AuditEntryView } from '../part/audit-entry.tsx';
import { Empty } from '../part/empty.tsx';
import { Field } from '../part/field.tsx';
import { LoadedView } from '../part/loaded-view.tsx';
import { PageHead } from '../part/page-head.tsx';
import { useOrganization } from '../session/use-session.ts';

const PAGE_SIZE = 50;
const REFRESH_MS = 10_000;

/** Suggested filters; the part before the dot selects all actions that begin with it. */
const ACTIONS = [
  ...[
    'release',
    'release.publish',
    'release.promote',
    'release.serve',
    'release.withdraw',
    'release.complete',
    'app.create',
  ],
  ...['channel', 'channel.create', 'channel.update', 'key', 'key.create', 'key.revoke'],
  ...['member', 'invitation', 'organization', 'webhook'],
];

/** Audit page; filters and position are query parameters. */
export function AuditPage() {
  useTitle('Audit');
  const { id: org } = useOrganization();
  const { query } = useLocation();
  const { actor, action, subject, before } = query;
  const entries = useLoad(
    `audit${queryText({ org, actor, action, subject, before, limit: PAGE_SIZE })}`,
    before === undefined ? REFRESH_MS : 0,
  );
  return (
    <>
      <PageHead title="Audit" lead="Every change, newest first." />
      <section class="card flush" aria-label="Changes">
        <AuditFilters query={query} />
        <LoadedView of={entries}>
          {(page) => (
            <>
              {page.entries.length === 0 ? (
                <Empty title="No change fits">
                  <a class="button plain" href={consolePath.audit}>
                    Clear filters
                  </a>
                </Empty>
              ) : (
                <ol class="audit padded">
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
  return (
    <form
      class="filters"
      aria-label="Filter changes"
      onSubmit={(event) => {
        event.preventDefault();
        route(`${consolePath.audit}${queryText({ ...draft, before: undefined })}`);
      }}
    >
      <Field label="Who" {...field('actor')} />
      <Field label="Action" options={ACTIONS} isCode {...field('action')} />
      <Field label="Subject" placeholder="app/channel@1.0.0" isCode {...field('subject')} />
      <button type="submit" class="button plain">
        Filter
      </button>
    </form>
  );
}

function Pager({ query, next }: { query: Record<string, string>; next: string | null }) {
  if (next === null && query.before === undefined) return null;
  const to = (before?: string) => `${consolePath.audit}${queryText({ ...query, before })}`;
  return (
    <nav class="pager" aria-label="Pages of the audit">
      {query.before === undefined ? <span /> : <a href={to()}>← Newest</a>}
      {next === null ? <span /> : <a href={to(next)}>Older →</a>}
    </nav>
  );
}
