// Apps of an organization: the newest release per channel, rollouts in progress, and devices seen.

import { useState } from 'preact/hooks';
import type { AppOverview, ChannelOverview } from '../../contract/console.ts';
import { consolePath } from '../format/console-path.ts';
import { countText, numberText } from '../format/number-text.ts';
import { queryText } from '../format/query-text.ts';
import { useLoad } from '../hook/use-load.ts';
import { useTitle } from '../hook/use-title.ts';
import { AsOf } from '../part/as-of.tsx';
import { Empty } from '../part/empty.tsx';
import { LoadedView } from '../part/loaded-view.tsx';
import { Name } from '../part/name.tsx';
import { PageHead } from '../part/page-head.tsx';
import { ShareBar } from '../part/share-bar.tsx';
import { StatusBadge } from '../part/status-badge.tsx';
import { Time } from '../part/time.tsx';
import { useMay, useOrganization } from '../session/use-session.ts';
import { NewAppDialog } from './new-app-dialog.tsx';

const REFRESH_MS = 5000;

/** Page with the list of apps, or the first step when there is none. */
export function AppsPage() {
  useTitle('Apps');
  const organization = useOrganization();
  const mayCreate = useMay('owner');
  const [isCreating, setCreating] = useState(false);
  const apps = useLoad(`apps${queryText({ org: organization.id })}`, REFRESH_MS);
  const create = mayCreate ? (
    <button type="button" class="button primary" onClick={() => setCreating(true)}>
      Create app
    </button>
  ) : undefined;
  return (
    <>
      <PageHead title="Apps" actions={apps.data?.apps.length === 0 ? undefined : create} />
      <LoadedView of={apps}>
        {(found) =>
          found.apps.length === 0 ? (
            <Empty title="No apps yet">
              <p class="hint">
                An app is what your devices ask updates for.{' '}
                {mayCreate
                  ? 'Create it, mint a key in Settings, publish.'
                  : 'An owner can create one.'}
              </p>
              {create}
            </Empty>
          ) : (
            <div class="apps">
              {found.apps.map((app) => (
                <AppCard key={app.id} app={app} />
              ))}
            </div>
          )
        }
      </LoadedView>
      <AsOf of={apps} />
      {isCreating && (
        <NewAppDialog organizationId={organization.id} onClose={() => setCreating(false)} />
      )}
    </>
  );
}

function AppCard({ app }: { app: AppOverview }) {
  return (
    <article class="card flush app" aria-label={app.name}>
      <header class="card-head">
        <div class="app-name">
          <h2>
            <a href={consolePath.app(app.ref)}>
              <Name text={app.name} />
            </a>
          </h2>
          <Name text={app.ref} isCode />
        </div>
        <a class="app-fleet" href={consolePath.fleet(app.ref)} title="Show the fleet">
          <strong>{numberText(app.devicesDay)}</strong> in the last day
        </a>
      </header>
      {app.channels.length === 0 && <p class="hint padded">No channel yet.</p>}
      <ul class="rows">
        {app.channels.map((channel) => (
          <ChannelRow key={channel.name} app={app} channel={channel} />
        ))}
      </ul>
    </article>
  );
}

function ChannelRow({ app, channel }: { app: AppOverview; channel: ChannelOverview }) {
  const { rolling } = channel;
  return (
    <li class="channel-row">
      <a class="channel-name" href={consolePath.channel(app.ref, channel.name)}>
        {channel.name}
      </a>
      <span class="muted">{countText(channel.releases, 'release')}</span>
      <ChannelState app={app.ref} channel={channel} />
      <span class="channel-rolling">
        {rolling.map(({ version, rolloutPct }) => (
          <a key={version} href={consolePath.release(app.ref, channel.name, version)}>
            <span class="code">{version}</span>
            <ShareBar percent={rolloutPct} label={`Roll-out of ${version}`} />
          </a>
        ))}
      </span>
    </li>
  );
}

/** What devices of the channel get, and what became of the newest release when that is another one. */
function ChannelState({ app, channel }: { app: string; channel: ChannelOverview }) {
  const { newest, serving } = channel;
  if (newest === null) return <span class="muted">Nothing published yet</span>;
  const { version, status, rolloutPct, createdAt, hasArtifacts, rolledBackAt } = newest;
  return (
    <span class="channel-newest">
      {serving !== version && (
        <span class="channel-serving">
          {serving === null ? (
            <span class="muted">Serving nothing to all</span>
          ) : (
            <>
              <span class="muted">Serving</span>{' '}
              <a class="code" href={consolePath.release(app, channel.name, serving)}>
                {serving}
              </a>
            </>
          )}
        </span>
      )}
      <a class="code" href={consolePath.release(app, channel.name, version)}>
        {version}
      </a>
      <StatusBadge status={status} rolloutPct={rolloutPct} artifacts={hasArtifacts ? 1 : 0} />
      <span class="muted">
        <Time at={rolledBackAt ?? createdAt} />
      </span>
    </span>
  );
}
