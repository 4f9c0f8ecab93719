// List of an app's devices; its filters are in the query, so that a link keeps them.

import { useEffect, useMemo, useRef } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { AppOverview, LabelCounts } from '../../contract/console.ts';
import type { DeviceRecord } from '../../contract/console-fleet.ts';
import { SIGNALS, type Signal } from '../../contract/rollout-plan.ts';
import { consolePath, queryText } from '../format/console-path.ts';
import { SIGNAL_WORDS } from '../format/plan-words.ts';
import { useLoad } from '../hook/use-load.ts';
import { Card, Empty } from '../part/card.tsx';
import { type Column, DataTable } from '../part/data-table.tsx';
import { Choice, Field } from '../part/field.tsx';
import { FilterForm, useDraft } from '../part/form.tsx';
import { Name } from '../part/name.tsx';
import { LoadedView } from '../part/notice.tsx';
import { Time } from '../part/time.tsx';

const REFRESH_MS = 5000;
const PLACE = 'devices';
const PAGE_SIZE = 25;

/** Filters and one page of matching devices. */
export function DeviceList({ app }: { app: AppOverview }) {
  const { query, url } = useLocation();
  const { version, below, channel, platform, label, offered, moved, seen, after } = query;
  const since = useMemo(() => seenSince(seen), [seen]);
  const signal = readSignal(query.signal);
  const { release = '' } = query;
  const isWhole = signal === undefined || (release !== '' && (channel ?? '') !== '');
  const filter = {
    ...{ version, below, channel, platform, label, offered },
    ...{ moved: moved === '' ? undefined : moved, seenSince: since },
    ...(signal === undefined ? {} : { signal, release }),
  };
  const devices = useLoad(
    isWhole ? `devices${queryText({ app: app.ref, ...filter, after, limit: PAGE_SIZE })}` : null,
    REFRESH_MS,
  );
  const place = useRef<HTMLDivElement>(null);
  const isLoaded = devices.data !== undefined;
  // Scrolls to the list after filtering or paging, and once it is loaded on a page that opens with it.
  useEffect(() => {
    if (url.endsWith(`#${PLACE}`)) place.current?.scrollIntoView();
  }, [url, isLoaded]);
  const isFiltered = Object.values(filter).some((value) => value !== undefined && value !== '');
  return (
    <div id={PLACE} ref={place} class="anchor">
      <Card title="Devices" isFlush>
        <DeviceFilters app={app} query={query} />
        {isWhole && signal !== undefined && (
          <p class="hint list-lead">
            Devices that are <strong>{signal}</strong>: they {SIGNAL_WORDS[signal]} ({release} of{' '}
            {channel}).
          </p>
        )}
        {!isWhole && (
          <Empty title="Which release?">
            <p class="hint">A signal is one of a release: choose its channel and its version.</p>
          </Empty>
        )}
        {isWhole && (
          <LoadedView of={devices}>
            {(page) => (
              <>
                {page.devices.length === 0 && page.next !== null ? (
                  <Empty title="None among the devices looked at so far">
                    <p class="hint">Few devices fit; the others are looked at page by page.</p>
                  </Empty>
                ) : page.devices.length === 0 ? (
                  <NoDevices app={app.ref} isFiltered={isFiltered || after !== undefined} />
                ) : (
                  <DataTable
                    caption={signal === undefined ? 'Devices, by id' : `Devices that are ${signal}`}
                    columns={columnsFor(app.ref)}
                    rows={page.devices}
                    keyOf={({ deviceId }) => deviceId}
                  />
                )}
                <Pager query={query} next={page.next} />
              </>
            )}
          </LoadedView>
        )}
      </Card>
    </div>
  );
}

function NoDevices({ app, isFiltered }: { app: string; isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <Empty title="No device fits">
        <a class="button plain" href={`${location.pathname}#devices`}>
          Clear filters
        </a>
      </Empty>
    );
  }
  return (
    <Empty title="No device yet">
      <p class="hint">
        A device is recorded when it asks <code>GET /u/{app}/CHANNEL/PLATFORM/ARCH/VERSION</code>{' '}
        with an <code>X-Service-Device</code> header, or when a fleet report names it.
      </p>
    </Empty>
  );
}

function columnsFor(app: string): readonly Column<DeviceRecord>[] {
  return [
    {
      label: 'Device',
      render: ({ deviceId }) => (
        <a href={consolePath.device(app, deviceId)}>
          <Name text={deviceId} isCode />
        </a>
      ),
    },
    {
      label: 'Version',
      render: ({ version }) => <span class="code">{version ?? 'unknown'}</span>,
    },
    { label: 'Channel', render: ({ channel }) => <Name text={channel} /> },
    {
      label: 'Platform',
      render: ({ platform, arch }) => <Name text={[platform, arch].filter(Boolean).join(' ')} />,
    },
    { label: 'Labels', render: ({ labels }) => <LabelList labels={labels} /> },
    { label: 'Seen', render: ({ lastSeen }) => <Time at={lastSeen} /> },
  ];
}

function Pager({ query, next }: { query: Record<string, string>; next: string | null }) {
  const to = (after?: string) => `${location.pathname}${queryText({ ...query, after })}#devices`;
  if (next === null && query.after === undefined) return null;
  return (
    <nav class="pager" aria-label="Pages of devices">
      {query.after === undefined ? <span /> : <a href={to()}>← First page</a>}
      {next === null ? <span /> : <a href={to(next)}>Next page →</a>}
    </nav>
  );
}

const SEEN = [
  { value: '', label: 'Any time' },
  { value: 'hour', label: 'Last hour' },
  { value: 'day', label: 'Last day' },
  { value: 'week', label: 'Last week' },
] as const;

const MOVED = [
  { value: '', label: 'Any' },
  { value: 'yes', label: 'Yes' },
  { value: 'no', label: 'Not yet' },
] as const;

const SIGNAL_OPTIONS: readonly { readonly value: Signal | ''; readonly label: string }[] = [
  { value: '', label: 'Any' },
  ...SIGNALS.map((signal) => ({ value: signal, label: signal })),
];

const SEEN_MS: Readonly<Record<string, number>> = {
  hour: 3_600_000,
  day: 86_400_000,
  week: 7 * 86_400_000,
};

/** Filters: text applies with Enter or the button, a choice at once. */
function DeviceFilters({ app, query }: { app: AppOverview; query: Record<string, string> }) {
  const { route } = useLocation();
  const { draft, field } = useDraft(query);
  const labels = useLoad(`labels${queryText({ app: app.ref })}`);
  const apply = (changed: Record<string, string>) =>
    route(`${location.pathname}${queryText({ ...query, ...changed, after: undefined })}`, true);
  return (
    <FilterForm label="Filter devices" onApply={() => apply(draft)}>
      <Field label="Version" isCode {...field('version')} />
      <Choice
        label="Channel"
        value={query.channel ?? ''}
        options={[
          { value: '', label: 'Any' },
          ...app.channels.map(({ name }) => ({ value: name, label: name })),
        ]}
        onChoose={(channel) => apply({ ...draft, channel })}
      />
      <Field label="Platform" {...field('platform')} />
      <Field
        label="Label"
        placeholder="ring=canary"
        options={labelOptions(labels.data)}
        {...field('label')}
      />
      <Field label="Offered last" isCode {...field('offered')} />
      <Choice
        label="Moved to it"
        value={query.moved ?? ''}
        options={MOVED}
        onChoose={(moved) => apply({ ...draft, moved })}
      />
      <Choice
        label="Seen"
        value={query.seen ?? ''}
        options={SEEN}
        onChoose={(seen) => apply({ ...draft, seen })}
      />
      <Choice
        label="Signal"
        value={readSignal(query.signal) ?? ''}
        options={SIGNAL_OPTIONS}
        onChoose={(signal) => apply({ ...draft, signal })}
      />
      <Field label="of release" isCode {...field('release')} />
    </FilterForm>
  );
}

/** Returns the signal of a query; undefined if there is none or it is unknown. */
function readSignal(text: string | undefined): Signal | undefined {
  return SIGNALS.find((signal) => signal === text);
}

/** Returns the start of the selected time range, in whole minutes; undefined for any time. */
function seenSince(seen: string | undefined): string | undefined {
  const spanMs = seen !== undefined && Object.hasOwn(SEEN_MS, seen) ? SEEN_MS[seen] : undefined;
  if (spanMs === undefined) return undefined;
  return new Date(Math.floor(Date.now() / 60_000) * 60_000 - spanMs).toISOString();
}

function labelOptions(labels: LabelCounts | undefined): readonly string[] {
  return (labels?.keys ?? []).flatMap(({ key, values }) =>
    values.map(({ value }) => `${key}=${value}`),
  );
}

/** List of labels as `key=value`; a dash if there are none. */
export function LabelList({ labels }: { labels: Readonly<Record<string, string>> }) {
  const entries = Object.entries(labels);
  if (entries.length === 0) return <span class="muted">–</span>;
  return (
    <ul class="labels" aria-label="Labels">
      {entries.map(([key, value]) => (
        <li key={key}>
          <bdi class="muted">{key}</bdi>
          <span class="muted">&nbsp;=&nbsp;</span>
          <bdi>{value}</bdi>
        </li>
      ))}
    </ul>
  );
}
