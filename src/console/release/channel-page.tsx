// Page of a channel: its releases by version with their rollout, and first steps while the app has no
// devices.

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { AppOverview, ChannelDetail } from '../../contract/console.ts';
import { CopyButton } from '../form/copy-button.tsx';
import { LoadedView, Skeleton } from '../form/notice.tsx';
import { consolePath, queryText } from '../format/console-path.ts';
import { countText, percentText } from '../format/figure-text.ts';
import { servingText } from '../format/serving.ts';
import { useLoad } from '../hook/use-load.ts';
import { Card } from '../part/card.tsx';
import { Name } from '../part/name.tsx';
import { PageHead, useTitle } from '../part/page-head.tsx';
import { AsOf } from '../part/time.tsx';
import { OpenDoors } from '../rollout/open-doors.tsx';
import { useMay, useOrganization } from '../session/use-session.ts';
import { ChannelDialog } from './channel-dialog.tsx';
import { PublishDialog } from './publish-dialog.tsx';
import { isFiltered, ReleaseList } from './release-list.tsx';

const REFRESH_MS = 4000;

/** Page of a channel; filters and page of the list are query parameters. */
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
  // Buttons appear together, because each one moves the others.
  const isListed = !details.isComing && !releases.isComing;
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
            {isListed && details.data !== undefined && maySet && (
              <button type="button" class="button plain" onClick={() => setOpen('settings')}>
                Channel settings
              </button>
            )}
            {/* An empty list has the button itself. */}
            {isListed &&
              releases.data !== undefined &&
              (releases.data.total > 0 || isFiltered(query)) &&
              publish}
          </>
        }
      />
      {details.data !== undefined && <ChannelTop app={app} details={details.data} />}
      {details.isComing && <Skeleton />}
      <LoadedView of={releases}>
        {(page) => (
          <ReleaseList
            {...{ app, channel, page, query, publish }}
            follows={details.data?.follows ?? null}
          />
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
          ddiAuth={app.ddiAuth}
          others={app.channels.map(({ name }) => name).filter((name) => name !== channel)}
          onClose={() => setOpen(undefined)}
          onDone={reload}
        />
      )}
    </>
  );
}

/** Content above the releases: a warning, the download address for people, and the first steps. */
function ChannelTop({ app, details }: { app: AppOverview; details: ChannelDetail }) {
  const { name, downloadUrl, approvals, follows } = details;
  return (
    <>
      {/* Uses the page's settings, which are newer than those in the list of all channels. */}
      <OpenDoors app={app.ref} channel={name} change={{ approvals, follows }} />
      <p class="download-link row small">
        <span class="muted">For people:</span> <code>{downloadUrl}</code>
        <CopyButton text={downloadUrl} what="download link" />
      </p>
      <FirstSteps app={app} channel={name} base={downloadUrl.replace(/\/download\/.*$/, '')} />
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
    ddi,
    standing,
  } = details;
  const serving = servingText(standing, details.name);
  return (
    <>
      {serving === undefined ? (
        'No release at 100\u00a0%'
      ) : (
        <>
          Serving <span class="code">{serving}</span>
        </>
      )}{' '}
      · {countText(devices, 'device')}, {countText(devicesDay, 'seen', 'seen')} in the last day ·
      new releases start at {percentText(defaultRollout)} · updates are {updateMode}
      {minimumSupportedVersion !== null && (
        <>
          {' '}
          and required below <span class="code">{minimumSupportedVersion}</span>
        </>
      )}
      {requireSignature && ' · signed artifacts only'}
      {ddi !== null && ' · answers DDI'}
      {follows !== null && (
        <>
          {' '}
          · follows <Name text={follows} />: its devices are offered the releases of both
        </>
      )}
    </>
  );
}

const STEPS_REFRESH_MS = 5000;

/** Checklist for an unarchived app without devices; nothing for any other. `base`: the service's URL. */
function FirstSteps(props: { app: AppOverview; channel: string; base: string }) {
  const { app, channel, base } = props;
  const { id: org } = useOrganization();
  const isNew = app.devices === 0 && app.archivedAt === null;
  const keys = useLoad(isNew ? `keys${queryText({ org })}` : null, STEPS_REFRESH_MS);
  if (!isNew) return null;
  const isPublished = app.channels.some(({ releases }) => releases > 0);
  const hasKey = keys.data?.keys.some(({ revokedAt }) => revokedAt === null) ?? false;
  const address = `${base}/u/${encodeURIComponent(app.ref)}/${encodeURIComponent(channel)}`;
  const line = `curl -i -H 'X-Service-Device: my-first-device' ${address}/darwin/aarch64/0.0.1`;
  return (
    <Card title="First steps">
      <ol class="steps-list stack">
        <Step isDone>Create the app {app.name}.</Step>
        <Step isDone={isPublished}>Publish a release, here or from your build.</Step>
        <Step isDone={hasKey}>
          <a class="link" href={consolePath.settings('keys')}>
            Create a key
          </a>{' '}
          for your build, so that it can publish by itself.
        </Step>
        <Step isDone={false}>
          Let a device ask: <code>{line}</code> <CopyButton text={line} what="command" />
        </Step>
      </ol>
    </Card>
  );
}

function Step({ isDone, children }: { isDone: boolean; children: ComponentChildren }) {
  return (
    <li class={isDone ? 'muted' : ''}>
      <span aria-hidden="true">{isDone ? '✓' : '○'}</span>
      <span>
        <span class="unseen">{isDone ? 'Done: ' : 'To do: '}</span>
        {children}
      </span>
    </li>
  );
}
