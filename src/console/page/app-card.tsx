// Card of an app in the overview: its channels with what they serve, and devices seen.

import type { AppOverview, ChannelOverview } from '../../contract/console.ts';
import { consolePath } from '../format/console-path.ts';
import { countText, numberText } from '../format/figure-text.ts';
import { channelOrder } from '../format/serving.ts';
import { Badge, StatusBadge } from '../part/badge.tsx';
import { ShareBar } from '../part/card.tsx';
import { Name } from '../part/name.tsx';
import { Time } from '../part/time.tsx';

/** Number of channels above which not all are shown; the others are behind a link to the app. */
const CHANNELS_MAX = 6;

/** Card of an app; of many channels it shows the first ones, and those whose newest release is not served. */
export function AppCard({ app }: { app: AppOverview }) {
  const shown = channelsShown(app.channels);
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
          {app.archivedAt !== null && <Badge tone="quiet">Archived</Badge>}
        </div>
        <a class="app-fleet" href={consolePath.fleet(app.ref)} title="Show the fleet">
          <strong>{numberText(app.devicesDay)}</strong> in the last day
        </a>
      </header>
      {app.channels.length === 0 && <p class="hint padded">No channel yet.</p>}
      <ul class="rows">
        {shown.map((channel) => (
          <ChannelRow key={channel.name} app={app} channel={channel} />
        ))}
      </ul>
      {shown.length < app.channels.length && (
        <p class="hint padded">
          <a href={consolePath.app(app.ref)}>All {app.channels.length} channels</a>
        </p>
      )}
    </article>
  );
}

/** Returns the channels in their order; of many, first those where something is under way or was stopped. */
function channelsShown(channels: readonly ChannelOverview[]): readonly ChannelOverview[] {
  const ordered = channels.toSorted((one, other) => channelOrder(one.name, other.name));
  if (ordered.length <= CHANNELS_MAX) return ordered;
  const isQuiet = ({ name, newest, serving, rolling }: ChannelOverview) =>
    name !== 'stable' && rolling.length === 0 && (newest?.version ?? null) === serving;
  return [...ordered.filter((each) => !isQuiet(each)), ...ordered.filter(isQuiet)].slice(
    0,
    CHANNELS_MAX,
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
