// Fleet of an app: number of devices, their versions, adoption over time, and live activity.

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { AppOverview } from '../../contract/console.ts';
import type { FleetCell } from '../../contract/console-fleet.ts';
import { consolePath } from '../format/console-path.ts';
import { numberText, shareText } from '../format/number-text.ts';
import { queryText } from '../format/query-text.ts';
import { sumBy } from '../format/sum-by.ts';
import { useLoad } from '../hook/use-load.ts';
import { useTitle } from '../hook/use-title.ts';
import { AsOf } from '../part/as-of.tsx';
import { Card } from '../part/card.tsx';
import { Empty } from '../part/empty.tsx';
import { FigureTile } from '../part/figure-tile.tsx';
import { LoadedView } from '../part/loaded-view.tsx';
import { Name } from '../part/name.tsx';
import { PageHead } from '../part/page-head.tsx';
import { ShareBar } from '../part/share-bar.tsx';
import { AdoptionCard } from './adoption-card.tsx';
import { DeviceList } from './device-list.tsx';
import { LiveCard } from './live-card.tsx';

const REFRESH_MS = 4000;
const BARS_MAX = 8;

/** Page of the fleet; filters are query parameters. */
export function FleetPage({ app }: { app: AppOverview }) {
  useTitle('Fleet', app.name);
  const fleet = useLoad(`fleet${queryText({ app: app.ref })}`, REFRESH_MS);
  return (
    <>
      <PageHead
        title="Fleet"
        lead="Devices that asked for updates, or were reported."
        actions={<FindDevice app={app.ref} />}
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
              value={seenText(found.day, found.isEstimate)}
              note="in the last 24 hours"
            />
            <FigureTile
              label="This week"
              value={seenText(found.week, found.isEstimate)}
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
      <AdoptionCard app={app.ref} />
      <div class="split">
        <div>{fleet.data !== undefined && <NowCard app={app.ref} cells={fleet.data.cells} />}</div>
        <div>
          <LiveCard app={app.ref} />
        </div>
      </div>
      <DeviceList app={app} />
    </>
  );
}

function NowCard({ app, cells }: { app: string; cells: readonly FleetCell[] }) {
  return (
    <Card title="What they run">
      {cells.length === 0 ? (
        <Empty title="No device yet">
          <p class="hint">Versions and platforms appear here with the first device that asks.</p>
        </Empty>
      ) : (
        <>
          <Bars app={app} field="version" cells={cells} label="Version" />
          <Bars app={app} field="platform" cells={cells} label="Platform" />
        </>
      )}
    </Card>
  );
}

function Bars(props: {
  app: string;
  field: 'version' | 'platform';
  cells: readonly FleetCell[];
  label: string;
}) {
  const { app, field, cells, label } = props;
  const sums = sumBy(cells, (cell) => cell[field]);
  const whole = total(cells);
  return (
    <ul class="bars" aria-label={`Devices by ${label.toLowerCase()}`}>
      {sums.slice(0, BARS_MAX).map(([key, devices]) => (
        <li key={key}>
          {key === '' ? (
            <span class="muted">unknown</span>
          ) : (
            <a href={`${consolePath.fleet(app)}${queryText({ [field]: key })}#devices`}>
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

/** Form that opens a device by its id. */
function FindDevice({ app }: { app: string }) {
  const { route } = useLocation();
  const [id, setId] = useState('');
  return (
    <search>
      <form
        class="find"
        onSubmit={(event) => {
          event.preventDefault();
          if (id.trim() !== '') route(consolePath.device(app, id.trim()));
        }}
      >
        <input
          type="search"
          aria-label="Device id"
          placeholder="Device id"
          value={id}
          onInput={(event) => setId(event.currentTarget.value)}
        />
        <button type="submit" class="button plain">
          Open device
        </button>
      </form>
    </search>
  );
}

/** Marks a number as an estimate. */
function seenText(devices: number, isEstimate: boolean): string {
  return isEstimate ? `≈ ${numberText(devices)}` : numberText(devices);
}

function total(cells: readonly FleetCell[]): number {
  return cells.reduce((sum, { devices }) => sum + devices, 0);
}
