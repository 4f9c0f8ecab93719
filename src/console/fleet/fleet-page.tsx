// Fleet of an app: number of devices, their versions, adoption over time, and live activity.

import { useLocation } from 'preact-iso';
import type { AppOverview } from '../../contract/console.ts';
import type { FleetCell } from '../../contract/console-fleet.ts';
import { Choice } from '../form/field.tsx';
import { LoadedView } from '../form/notice.tsx';
import { consolePath, queryText } from '../format/console-path.ts';
import { numberText, shareText } from '../format/figure-text.ts';
import { sumBy, totalOf, versionNamer } from '../format/fleet-bars.ts';
import { channelNames } from '../format/serving.ts';
import { Redirect } from '../home/not-found-page.tsx';
import { useLoad } from '../hook/use-load.ts';
import { Card, Empty, FigureTile, ShareBar } from '../part/card.tsx';
import { Name } from '../part/name.tsx';
import { PageHead, useTitle } from '../part/page-head.tsx';
import { AsOf } from '../part/time.tsx';
import { AdoptionCard } from './adoption-card.tsx';
import { LiveCard } from './live-card.tsx';

const REFRESH_MS = 4000;
const BARS_MAX = 8;

/** Page of the fleet; filters are query parameters. */
export function FleetPage({ app }: { app: AppOverview }) {
  useTitle('Fleet', app.name);
  const { query } = useLocation();
  // Links of an earlier version have the devices here.
  if (location.hash === '#devices') {
    return <Redirect to={consolePath.devices(app.ref, query)} />;
  }
  return <Fleet app={app} query={query} />;
}

function Fleet({ app, query }: { app: AppOverview; query: Record<string, string> }) {
  const channel = query.channel === '' ? undefined : query.channel;
  const seenLink = (seen: string) => consolePath.devices(app.ref, { channel, seen });
  const fleet = useLoad(`fleet${queryText({ app: app.ref, channel })}`, REFRESH_MS);
  return (
    <>
      <PageHead
        title="Fleet"
        lead="Devices that asked for updates, or were reported."
        actions={<ChannelSwitch app={app} channel={channel} />}
      />
      <LoadedView of={fleet}>
        {(found) => (
          <dl class="figures">
            <FigureTile
              label="Now"
              value={seenText(found.now, found.isEstimate)}
              note="in the last 15 minutes"
            />
            <FigureTile
              label="Today"
              value={<a href={seenLink('day')}>{seenText(found.day, found.isEstimate)}</a>}
              note="in the last 24 hours"
            />
            <FigureTile
              label="This week"
              value={<a href={seenLink('week')}>{seenText(found.week, found.isEstimate)}</a>}
              note="in the last 7 days"
            />
            <FigureTile
              label="On record"
              value={numberText(found.total)}
              note="ever seen and kept"
            />
          </dl>
        )}
      </LoadedView>
      <AsOf of={fleet} />
      <AdoptionCard app={app.ref} channel={channel} />
      {channel === undefined && app.channels.length > 1 && (
        <p class="hint after-card">
          A version that is on several channels is one color here: choose a channel above to see it
          alone.
        </p>
      )}
      <div class="split">
        <div>{fleet.data !== undefined && <NowCard app={app.ref} cells={fleet.data.cells} />}</div>
        <div>
          <LiveCard app={app.ref} />
        </div>
      </div>
    </>
  );
}

/** Choice of the page's channel, kept in the query. */
function ChannelSwitch({ app, channel }: { app: AppOverview; channel: string | undefined }) {
  const { query, route } = useLocation();
  const names = channelNames(app);
  if (names.length < 2) return null;
  return (
    <Choice
      label="Fleet of"
      value={channel ?? ''}
      options={[{ value: '', label: 'All channels' }, ...names]}
      onChoose={(chosen) =>
        route(`${location.pathname}${queryText({ ...query, channel: chosen })}`)
      }
    />
  );
}

function NowCard({ app, cells }: { app: string; cells: readonly FleetCell[] }) {
  return (
    <Card title="What they run">
      {cells.length === 0 ? (
        <Empty title="No device yet">
          Versions and platforms appear here with the first device that asks.
        </Empty>
      ) : (
        <>
          <VersionBars app={app} cells={cells} />
          <Bars
            cells={cells}
            label="Platform"
            keyOf={({ platform }) => platform}
            linkOf={({ platform }) => consolePath.devices(app, { platform })}
          />
        </>
      )}
    </Card>
  );
}

/** Bars by version, and by channel if there are several. */
function VersionBars({ app, cells }: { app: string; cells: readonly FleetCell[] }) {
  return (
    <Bars
      cells={cells}
      label="Version"
      keyOf={versionNamer(cells)}
      linkOf={({ version, channel }) => consolePath.devices(app, { version, channel })}
    />
  );
}

function Bars(props: {
  cells: readonly FleetCell[];
  label: string;
  keyOf: (cell: FleetCell) => string;
  linkOf: (cell: FleetCell) => string;
}) {
  const { cells, label, keyOf, linkOf } = props;
  const sums = sumBy(cells, keyOf);
  const links = new Map(cells.map((cell) => [keyOf(cell), linkOf(cell)]));
  const whole = totalOf(cells);
  return (
    <ul class="bars stack" aria-label={`Devices by ${label.toLowerCase()}`}>
      {sums.slice(0, BARS_MAX).map(([key, devices]) => (
        <li key={key}>
          {key === '' ? (
            <span class="muted">unknown</span>
          ) : (
            <a href={links.get(key)}>
              <Name text={key} isCode />
            </a>
          )}
          <ShareBar
            percent={(devices / whole) * 100}
            label={key}
            text={`${numberText(devices)} · ${shareText(devices, whole)}`}
          />
        </li>
      ))}
      {sums.length > BARS_MAX && <li class="muted">and {sums.length - BARS_MAX} more</li>}
    </ul>
  );
}

/** Formats a number, marked if it is an estimate. */
function seenText(devices: number, isEstimate: boolean): string {
  return isEstimate ? `≈ ${numberText(devices)}` : numberText(devices);
}
