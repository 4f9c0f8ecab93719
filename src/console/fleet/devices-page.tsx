// Page of an app's devices: a search with its number of matches, a table, a CSV file, and a dialog on why
// many devices do not get a release.

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { AppOverview } from '../../contract/console.ts';
import type { DeviceRecord } from '../../contract/console-fleet.ts';
import { LIMIT } from '../../contract/limit.ts';
import { call } from '../api/call.ts';
import { LoadedView } from '../form/notice.tsx';
import { consolePath, queryText } from '../format/console-path.ts';
import { csvText } from '../format/csv.ts';
import { countText } from '../format/figure-text.ts';
import { SIGNAL_WORDS } from '../format/plan-words.ts';
import { useLoad } from '../hook/use-load.ts';
import { Empty, HelpLink } from '../part/card.tsx';
import { type Column, DataTable } from '../part/data-table.tsx';
import { DownloadButton } from '../part/download.tsx';
import { DeviceLink, LabelList, Name } from '../part/name.tsx';
import { PageHead, useTitle } from '../part/page-head.tsx';
import { AsOf, Time } from '../part/time.tsx';
import { readSearch } from './device-query.ts';
import { DeviceSearch } from './device-search.tsx';
import { WhyNotDialog } from './why-not-dialog.tsx';

const REFRESH_MS = 5000;
const PAGE_SIZE = 25;

export function DevicesPage({ app }: { app: AppOverview }) {
  useTitle('Devices', app.name);
  const { query } = useLocation();
  const { filter, signal, release, isFiltered, isWhole } = readSearch(query);
  const [isAsking, setAsking] = useState(false);
  const asked = { app: app.ref, ...filter, ...(signal && { signal, release }) };
  const pathOf = (after: string | null | undefined, limit: number) =>
    `devices${queryText({ ...asked, after, limit })}` as const;
  const devices = useLoad(isWhole ? pathOf(query.after, PAGE_SIZE) : null, REFRESH_MS);
  const read = async (after: string | null) => {
    const page = await call('GET', pathOf(after, LIMIT.devicePageMax));
    return { rows: page.devices, next: page.next };
  };
  return (
    <>
      <PageHead
        title="Devices"
        lead="Devices that asked for updates, or were reported."
        actions={
          <>
            <button type="button" class="button plain" onClick={() => setAsking(true)}>
              Why not…
            </button>
            <DownloadButton
              name={`devices-${app.ref}`}
              read={read}
              csv={deviceCsv}
              more="Narrow the search for the rest."
            />
          </>
        }
      />
      <section class="card flush" aria-label="Devices">
        <DeviceSearch app={app} query={query} />
        {!isWhole && (
          <Empty title="Which release?">
            A signal is one of a release: open the release, and choose one of its signals.
          </Empty>
        )}
        {isWhole && signal !== undefined && (
          <p class="hint list-lead">
            Devices that are <strong>{signal}</strong>: they {SIGNAL_WORDS[signal]} ({release} of{' '}
            {query.channel}). <HelpLink to="signals">What the signals count</HelpLink>
          </p>
        )}
        {isWhole && signal === undefined && <Matches app={app.ref} filter={filter} />}
        {isWhole && (
          <LoadedView of={devices}>
            {(page) => (
              <>
                {page.devices.length > 0 ? (
                  <DataTable
                    caption={signal === undefined ? 'Devices, by id' : `Devices that are ${signal}`}
                    columns={columnsFor(app.ref)}
                    rows={page.devices}
                    keyOf={({ deviceId }) => deviceId}
                  />
                ) : page.next !== null ? (
                  <Empty title="None among the devices looked at so far">
                    Few devices fit; the others are looked at page by page.
                  </Empty>
                ) : (
                  <NoDevices
                    app={app.ref}
                    id={query.id}
                    isFiltered={isFiltered}
                    isBeyond={query.after !== undefined}
                  />
                )}
                <Pager query={query} next={page.next} />
              </>
            )}
          </LoadedView>
        )}
      </section>
      <AsOf of={devices} />
      {isAsking && <WhyNotDialog app={app.ref} onClose={() => setAsking(false)} />}
    </>
  );
}

/** Number of devices that match; loaded once for each search. */
function Matches(props: { app: string; filter: Readonly<Record<string, string | undefined>> }) {
  const { app, filter } = props;
  const count = useLoad(`devices/count${queryText({ app, ...filter })}`);
  const { devices = null, isEstimate = false } = count.data ?? {};
  return (
    <p class="hint list-lead" role="status">
      {count.isLoading || devices === null
        ? '\u00a0'
        : `${isEstimate ? 'About ' : ''}${countText(devices, 'device')}`}
    </p>
  );
}

function NoDevices(props: {
  app: string;
  id: string | undefined;
  isFiltered: boolean;
  isBeyond: boolean;
}) {
  const { app, id = '', isFiltered, isBeyond } = props;
  if (isFiltered || isBeyond) {
    return (
      <Empty
        title={isBeyond ? 'No further device fits' : 'No device fits'}
        link={{ href: consolePath.devices(app), text: 'Clear the search' }}
      >
        {id !== '' && (
          <a href={consolePath.device(app, id)}>What would a device with this id get?</a>
        )}
      </Empty>
    );
  }
  return (
    <Empty title="No device yet">
      A device is recorded when it asks <code>GET /u/{app}/CHANNEL/PLATFORM/ARCH/VERSION</code> with
      an <code>X-Service-Device</code> header, or when a fleet report names it.
    </Empty>
  );
}

function columnsFor(app: string): readonly Column<DeviceRecord>[] {
  return [
    { label: 'Device', render: ({ deviceId }) => <DeviceLink app={app} deviceId={deviceId} /> },
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
  const to = (after?: string) => `${location.pathname}${queryText({ ...query, after })}`;
  if (next === null && query.after === undefined) return null;
  return (
    <nav class="pager line apart small" aria-label="Pages of devices">
      {query.after === undefined ? <span /> : <a href={to()}>← First page</a>}
      {next === null ? <span /> : <a href={to(next)}>Next page →</a>}
    </nav>
  );
}

const CSV_COLUMNS = [
  ...['device', 'version', 'channel', 'platform', 'arch', 'labels', 'first seen', 'last seen'],
  ...['last offered', 'offered at'],
];

function deviceCsv(devices: readonly DeviceRecord[]): string {
  return csvText([
    CSV_COLUMNS,
    ...devices.map((device) => [
      ...[device.deviceId, device.version, device.channel, device.platform, device.arch],
      Object.entries(device.labels)
        .map(([key, value]) => `${key}=${value}`)
        .join(' '),
      ...[device.firstSeen, device.lastSeen],
      ...[device.lastOffered?.version ?? null, device.lastOffered?.at ?? null],
    ]),
  ]);
}
