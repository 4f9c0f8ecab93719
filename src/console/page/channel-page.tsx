// Page of a channel: its releases by version with their rollout, and the channel's policy.

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { AppOverview, ChannelDetail } from '../../contract/console.ts';
import { queryText } from '../format/console-path.ts';
import { countText } from '../format/figure-text.ts';
import { useLoad } from '../hook/use-load.ts';
import { CopyButton } from '../part/copy-button.tsx';
import { Name } from '../part/name.tsx';
import { LoadedView } from '../part/notice.tsx';
import { PageHead, useTitle } from '../part/page-head.tsx';
import { AsOf } from '../part/time.tsx';
import { useMay } from '../session/use-session.ts';
import { ChannelDialog } from './channel-dialog.tsx';
import { FirstSteps } from './first-steps.tsx';
import { PublishDialog } from './publish-dialog.tsx';
import { isFiltered, ReleaseList } from './release-list.tsx';

const REFRESH_MS = 4000;

/** Page of a channel; the page of its list is a query parameter. */
export function ChannelPage({ app, channel }: { app: AppOverview; channel: string }) {
  useTitle(channel, app.name);
  const { query } = useLocation();
  const [open, setOpen] = useState<'publish' | 'settings'>();
  const mayPublish = useMay('publisher') && app.archivedAt === null;
  const maySet = useMay('owner');
  const place = { app: app.ref, channel };
  const wanted = { version: query.version, status: query.status };
  const details = useLoad(`channel${queryText(place)}`, REFRESH_MS);
  const releases = useLoad(
    `releases${queryText({ ...place, ...wanted, page: query.page, perPage: 25 })}`,
    REFRESH_MS,
  );
  const reload = () => Promise.all([details.reload(), releases.reload()]);
  const publish = mayPublish ? (
    <button type="button" class="button primary" onClick={() => setOpen('publish')}>
      Publish release
    </button>
  ) : undefined;
  return (
    <>
      <PageHead
        title={channel}
        lead={details.data === undefined ? '\u00a0' : <ChannelLead details={details.data} />}
        actions={
          <>
            {maySet && (
              <button
                type="button"
                class="button plain"
                disabled={details.data === undefined}
                onClick={() => setOpen('settings')}
              >
                Channel settings
              </button>
            )}
            {/* An empty list shows the button in its middle instead. */}
            {releases.data !== undefined &&
              (releases.data.total > 0 || isFiltered(query)) &&
              publish}
          </>
        }
      />
      {details.data !== undefined && (
        <p class="download-link">
          <span class="muted">For people:</span> <code>{details.data.downloadUrl}</code>
          <CopyButton text={details.data.downloadUrl} what="download link" />
        </p>
      )}
      {details.data !== undefined && (
        <FirstSteps
          app={app}
          channel={channel}
          base={details.data.downloadUrl.replace(/\/download\/.*$/, '')}
        />
      )}
      <LoadedView of={releases}>
        {(page) => (
          <ReleaseList app={app} channel={channel} page={page} query={query} publish={publish} />
        )}
      </LoadedView>
      <AsOf of={releases} />
      {open === 'publish' && (
        <PublishDialog
          app={app}
          channel={channel}
          defaultRollout={details.data?.defaultRollout ?? 100}
          onClose={() => setOpen(undefined)}
        />
      )}
      {open === 'settings' && details.data !== undefined && (
        <ChannelDialog
          details={details.data}
          others={app.channels.map(({ name }) => name).filter((name) => name !== channel)}
          onClose={() => setOpen(undefined)}
          onSaved={reload}
        />
      )}
    </>
  );
}

function ChannelLead({ details }: { details: ChannelDetail }) {
  const {
    devices,
    devicesDay,
    minimumSupportedVersion,
    defaultRollout,
    updateMode,
    requireSignature,
    follows,
  } = details;
  return (
    <>
      {countText(devices, 'device')}, {countText(devicesDay, 'seen', 'seen')} in the last day · new
      releases start at {defaultRollout}% · updates are {updateMode}
      {minimumSupportedVersion !== null && (
        <>
          {' '}
          and required below <span class="code">{minimumSupportedVersion}</span>
        </>
      )}
      {requireSignature && ' · signed artifacts only'}
      {follows !== null && (
        <>
          {' '}
          · follows <Name text={follows} />: its devices get the releases of both
        </>
      )}
    </>
  );
}
