// List of a channel's releases, highest version first.

import type { ComponentChildren } from 'preact';
import { useLocation } from 'preact-iso';
import type { AppOverview, ChannelReleases, ListedRelease } from '../../contract/console.ts';
import { Choice, Field, optionsOf } from '../form/field.tsx';
import { FilterForm, useDraft } from '../form/form.tsx';
import { consolePath, queryText } from '../format/console-path.ts';
import { countText, numberText, percentText, shareText } from '../format/figure-text.ts';
import { servedShare, standingText } from '../format/serving.ts';
import { PlanBadge, StandingBadge, VerdictBadge } from '../part/badge.tsx';
import { Empty, ShareBar } from '../part/card.tsx';
import { type Column, DataTable } from '../part/data-table.tsx';
import { TargetingView } from '../part/targeting-view.tsx';
import { Time } from '../part/time.tsx';

/** List of releases; an empty one shows the button `publish`. */
export function ReleaseList(props: {
  app: AppOverview;
  channel: string;
  page: ChannelReleases;
  /** Channel whose releases its devices are offered as well; null if there is none. */
  follows: string | null;
  /** Query of the page, with the filters. */
  query: Record<string, string>;
  publish: ComponentChildren;
}) {
  const { app, channel, page, query, publish, follows } = props;
  if (page.total === 0 && !isFiltered(query)) {
    return (
      <Empty
        title={
          follows === null
            ? 'No releases on this channel yet'
            : `No releases of its own yet: its devices are offered those of ${follows}`
        }
        action={publish}
      >
        {app.archivedAt === null && (
          <>
            Publish one here, or from your build with a key: <code>POST /api/v1/releases</code>.
            Devices get it when they next ask.
          </>
        )}
      </Empty>
    );
  }
  return (
    <section class="card flush" aria-label="Releases">
      {(page.pageCount > 1 || isFiltered(query)) && <ReleaseFilters query={query} />}
      {page.total > 0 && page.releases.length === 0 ? (
        <Empty
          title={`There is no page ${page.page}`}
          link={{ href: pageHref(query, page.pageCount), text: 'To the last page' }}
        />
      ) : page.total === 0 ? (
        <Empty title="No release fits" link={{ href: location.pathname, text: 'Clear filters' }} />
      ) : (
        <DataTable
          caption="Releases, newest version first"
          classOf={({ standing }) => (standing.state === 'superseded' ? 'past' : undefined)}
          columns={columnsFor(app, channel, page.fleet)}
          rows={page.releases}
        />
      )}
      <Pager page={page} query={query} />
    </section>
  );
}

/** Returns whether the query filters the list. */
export function isFiltered({ version = '', status = '' }: Record<string, string>): boolean {
  return version !== '' || status !== '';
}

const STATUSES = optionsOf({
  '': 'Any',
  published: 'Published',
  paused: 'Paused',
  rolled_back: 'Rolled back',
  deprecated: 'Deprecated',
});

/** Filters of a long list, stored in the query. */
function ReleaseFilters({ query }: { query: Record<string, string> }) {
  const { route } = useLocation();
  const { draft, field } = useDraft(query);
  const apply = (changed: Record<string, string>) =>
    route(`${location.pathname}${queryText({ ...query, ...changed, page: undefined })}`, true);
  return (
    <FilterForm label="Filter releases" onApply={() => apply(draft)}>
      <Field label="Version begins with" type="search" isCode {...field('version')} />
      <Choice
        label="Status"
        value={query.status ?? ''}
        options={STATUSES}
        onChoose={(status) => apply({ ...draft, status })}
      />
    </FilterForm>
  );
}

function columnsFor(
  app: AppOverview,
  channel: string,
  fleet: number,
): readonly Column<ListedRelease>[] {
  return [
    {
      label: 'Version',
      render: ({ version }) => (
        <a class="code strong" href={consolePath.release(app.ref, channel, version)}>
          {version}
        </a>
      ),
    },
    {
      label: 'Status',
      render: ({ standing, plan }) => (
        <span class="badges row tight">
          <StandingBadge state={standing.state} />
          {standing.on.length > 0 && <span class="muted">on {standing.on.join(', ')}</span>}
          {plan !== null && <PlanBadge status={plan.status} />}
          {plan !== null && plan.verdict !== null && <VerdictBadge verdict={plan.verdict} />}
          {plan !== null && plan.next !== null && (
            <span class="muted">
              then {percentText(plan.next.rollout)}{' '}
              {plan.next.at !== null && <Time at={plan.next.at} />}
            </span>
          )}
        </span>
      ),
    },
    {
      label: 'Rollout',
      isNamed: true,
      render: (release) =>
        servedShare(release) === 0 ? (
          <span class="muted" title={standingText(release)}>
            not offered
          </span>
        ) : (
          <ShareBar percent={servedShare(release)} label={`Rollout of ${release.version}`} />
        ),
    },
    {
      label: 'Installed',
      isNamed: true,
      render: ({ version, devices, standing }) => {
        const text = devices === 0 ? '0' : `${numberText(devices)} · ${shareText(devices, fleet)}`;
        const percent = fleet === 0 ? 0 : (devices / fleet) * 100;
        const label = `Share of the fleet on ${version}`;
        return (
          <span title={countText(devices, 'device')}>
            {standing.state === 'superseded' ? (
              text
            ) : (
              <ShareBar percent={percent} label={label} text={text} tone="quiet" />
            )}
          </span>
        );
      },
    },
    { label: 'For', render: ({ targets }) => <TargetingView targets={targets} /> },
    {
      label: 'Artifacts',
      isNumber: true,
      render: ({ artifacts }) =>
        artifacts === 0 ? <span class="muted">none</span> : numberText(artifacts),
    },
    { label: 'Published', render: ({ createdAt }) => <Time at={createdAt} /> },
  ];
}

function pageHref(query: Record<string, string>, page: number): string {
  return `${location.pathname}${queryText({ ...query, page })}`;
}

function Pager(props: { page: ChannelReleases; query: Record<string, string> }) {
  const { page, pageCount, total } = props.page;
  if (pageCount <= 1) return null;
  const to = (target: number) => pageHref(props.query, target);
  return (
    <nav class="pager line apart small" aria-label="Pages of releases">
      {page > 1 ? <a href={to(page - 1)}>← Newer</a> : <span />}
      <span class="muted">
        Page {numberText(page)} of {numberText(pageCount)} · {countText(total, 'release')}
      </span>
      {page < pageCount ? <a href={to(page + 1)}>Older →</a> : <span />}
    </nav>
  );
}
