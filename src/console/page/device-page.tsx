// Page of a device: its state, its version history, and the decision it would get now.

import type { AppOverview } from '../../contract/console.ts';
import type { DeviceDetail } from '../../contract/console-fleet.ts';
import { clientText } from '../format/client-text.ts';
import { consolePath, queryText } from '../format/console-path.ts';
import { useLoad } from '../hook/use-load.ts';
import { Card } from '../part/card.tsx';
import { Name } from '../part/name.tsx';
import { LoadedView } from '../part/notice.tsx';
import { PageHead, useTitle } from '../part/page-head.tsx';
import { AsOf, Time } from '../part/time.tsx';
import { DecisionCard } from './decision-card.tsx';
import { LabelList } from './label-list.tsx';
import { NeverSeenPage } from './never-seen-page.tsx';

const REFRESH_MS = 4000;

/** Page of a device, refreshed while it is open. */
export function DevicePage({ app, deviceId }: { app: AppOverview; deviceId: string }) {
  useTitle(deviceId, 'Fleet', app.name);
  const device = useLoad(`device${queryText({ app: app.ref, deviceId })}`, REFRESH_MS);
  if (device.error?.status === 404) {
    return <NeverSeenPage app={app} deviceId={deviceId} />;
  }
  return (
    <>
      <PageHead
        title={<Name text={deviceId} isCode />}
        lead={<a href={consolePath.fleet(app.ref)}>← Fleet of {app.name}</a>}
      />
      <LoadedView of={device}>
        {(found) => (
          <div class="split">
            <div>
              <DecisionCard app={app.ref} deviceId={deviceId} channel={found.channel} />
            </div>
            <div>
              <FactsCard app={app.ref} device={found} />
              <HistoryCard history={found.history} />
            </div>
          </div>
        )}
      </LoadedView>
      <AsOf of={device} />
    </>
  );
}

function FactsCard({ app, device }: { app: string; device: DeviceDetail }) {
  const { version, channel, lastOffered } = device;
  return (
    <Card title="Device">
      <dl class="facts">
        <dt>Runs</dt>
        <dd class="code">{version ?? 'unknown'}</dd>
        <dt>Channel</dt>
        <dd>
          <a href={consolePath.channel(app, channel)}>
            <Name text={channel} />
          </a>
        </dd>
        <dt>Platform</dt>
        <dd>
          <Name text={[device.platform, device.arch].filter(Boolean).join(' ')} />
        </dd>
        <dt>Asks</dt>
        <dd>
          {clientText(device.client)}
          {device.bundle !== null && (
            <>
              , installed from <Name text={device.bundle} isCode />
            </>
          )}
        </dd>
        <dt>Labels</dt>
        <dd>
          <LabelList labels={device.labels} />
        </dd>
        <dt>Last seen</dt>
        <dd>
          <Time at={device.lastSeen} isZoned />{' '}
          <span class="muted">{device.source === 'push' ? 'in a report' : 'asking itself'}</span>
        </dd>
        <dt>First seen</dt>
        <dd>
          <Time at={device.firstSeen} isZoned />
        </dd>
        <dt>Last offered</dt>
        <dd>
          {lastOffered === null ? (
            <span class="muted">nothing yet</span>
          ) : (
            <>
              <a class="code" href={consolePath.release(app, channel, lastOffered.version)}>
                {lastOffered.version}
              </a>{' '}
              <Time at={lastOffered.at} isZoned />
            </>
          )}
        </dd>
      </dl>
    </Card>
  );
}

function HistoryCard({ history }: Pick<DeviceDetail, 'history'>) {
  return (
    <Card title="History">
      {history.length === 0 ? (
        <p class="muted">It ran the same version all the time.</p>
      ) : (
        <ol class="timeline">
          {history.map(({ at, from, to }) => (
            <li key={`${at} ${to}`}>
              <span class="code">{from === null ? to : `${from} → ${to}`}</span>
              <span class="muted">
                <Time at={at} isZoned />
              </span>
            </li>
          ))}
        </ol>
      )}
    </Card>
  );
}
