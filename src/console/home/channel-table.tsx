// Table of an app's channels on the overview: what they serve, what is rolling out and when its next step
// begins, and how many devices run the newest release.

import type { AppOverview, ChannelOverview, ChannelPlan } from '../../contract/console.ts';
import { isOpenEnded } from '../../contract/rollout-plan.ts';
import { consolePath } from '../format/console-path.ts';
import { countText, numberText, percentText, shareText } from '../format/figure-text.ts';
import { channelOrder } from '../format/serving.ts';
import { Badge, StandingBadge } from '../part/badge.tsx';
import { ShareBar } from '../part/card.tsx';
import { type Column, DataTable } from '../part/data-table.tsx';
import { Name, None } from '../part/name.tsx';
import { Time } from '../part/time.tsx';

/** Maximum number of channels in a card; a link to the app leads to the others. */
const CHANNELS_MAX = 6;

export function ChannelTable({ app }: { app: AppOverview }) {
  const shown = channelsShown(app.channels);
  if (shown.length === 0) return <p class="hint padded">No channel yet.</p>;
  return (
    <>
      <DataTable
        caption={`Channels of ${app.name}`}
        columns={columnsFor(app.ref)}
        rows={shown}
        keyOf={({ name }) => name}
      />
      {shown.length < app.channels.length && (
        <p class="hint padded">
          <a href={consolePath.app(app.ref)}>All {app.channels.length} channels</a>
        </p>
      )}
    </>
  );
}

/**
 * Returns the channels to show: if there are many, first those with a rollout, or with an unserved newest
 * release.
 */
function channelsShown(channels: readonly ChannelOverview[]): readonly ChannelOverview[] {
  const ordered = channels.toSorted((one, other) => channelOrder(one.name, other.name));
  if (ordered.length <= CHANNELS_MAX) return ordered;
  const isQuiet = ({ name, newest, standing }: ChannelOverview) =>
    name !== 'stable' &&
    standing.rolling.length === 0 &&
    (newest === null || newest.standing.state === 'serving');
  return [...ordered.filter((each) => !isQuiet(each)), ...ordered.filter(isQuiet)].slice(
    0,
    CHANNELS_MAX,
  );
}

function columnsFor(app: string): readonly Column<ChannelOverview>[] {
  return [
    {
      label: 'Channel',
      render: ({ name, releases }) => (
        <>
          <a class="strong" href={consolePath.channel(app, name)}>
            <Name text={name} />
          </a>{' '}
          <span class="muted">{countText(releases, 'release')}</span>
        </>
      ),
    },
    { label: 'Newest', render: (channel) => <Newest app={app} channel={channel} /> },
    { label: 'Serving', render: (channel) => <Serving app={app} channel={channel} /> },
    { label: 'Rolling', render: (channel) => <Rolling app={app} channel={channel} /> },
    { label: 'Health', render: ({ plan }) => <PlanHealth plan={plan} /> },
    {
      label: 'On it',
      isNumber: true,
      render: ({ newest, devices, onNewest }) =>
        newest === null || devices === 0 ? (
          <None />
        ) : (
          <span title={`${numberText(onNewest)} of ${countText(devices, 'device')}`}>
            {numberText(onNewest)} · {shareText(onNewest, devices)}
          </span>
        ),
    },
    {
      label: 'Since',
      render: ({ newest }) => <Time at={newest?.standing.change?.at ?? newest?.createdAt} />,
    },
  ];
}

/** What the channel's devices get, by platform if these get different releases. */
function Serving({ app, channel }: { app: string; channel: ChannelOverview }) {
  const { name, newest, standing } = channel;
  const { serving, rolling } = standing;
  const isNothing = newest === null && rolling.length === 0;
  return (
    <span class="channel-serving stack tight">
      {serving.length === 0 && (
        <span class="muted">
          {isNothing ? 'Nothing published yet' : 'No release at 100\u00a0%'}
        </span>
      )}
      {serving.map((served) => (
        <span key={`${served.channel}@${served.version}`}>
          <a class="code" href={consolePath.release(app, served.channel, served.version)}>
            {served.version}
          </a>{' '}
          <span class="muted">
            {served.on.join(', ')} {served.isTargeted && 'for some'}{' '}
            {served.channel !== name && `from ${served.channel}`}
          </span>
        </span>
      ))}
    </span>
  );
}

function Rolling({ app, channel }: { app: string; channel: ChannelOverview }) {
  const { plan, standing } = channel;
  if (standing.rolling.length === 0 && plan === null) return <None />;
  return (
    <span class="channel-rolling stack tight">
      {standing.rolling.map((served) => (
        <a
          key={`${served.channel}@${served.version}`}
          class="line"
          href={consolePath.release(app, served.channel, served.version)}
        >
          <span class="code">{served.version}</span>
          <ShareBar percent={served.rolloutPct} label={`Rollout of ${served.version}`} />
        </a>
      ))}
      {plan !== null && <NextStep plan={plan} />}
    </span>
  );
}

/** The release with the highest version, and its state. */
function Newest({ app, channel }: { app: string; channel: ChannelOverview }) {
  const { name, newest, follows } = channel;
  if (newest === null) {
    return follows === null ? <None /> : <span class="muted">follows {follows}</span>;
  }
  return (
    <span class="channel-newest row">
      <a class="code" href={consolePath.release(app, name, newest.version)}>
        {newest.version}
      </a>{' '}
      <StandingBadge state={newest.standing.state} />
    </span>
  );
}

/** What the plan does next. */
function NextStep({ plan }: { plan: ChannelPlan }) {
  const { version, status, nextRollout, nextAt } = plan;
  const what = nextRollout === null ? 'ends' : `goes to ${percentText(nextRollout)}`;
  return (
    <span class="muted">
      The plan of <span class="code">{version}</span>{' '}
      {status === 'held' ? 'is held' : nextAt === null ? `${what} later` : `${what} `}
      {status !== 'held' && nextAt !== null && <Time at={nextAt} />}
    </span>
  );
}

/** What the guards of the plan say; a dash without guards. */
function PlanHealth({ plan }: { plan: ChannelPlan | null }) {
  if (plan === null || !plan.isGuarded) return <None />;
  if (plan.tripped.length > 0)
    return <Badge tone="bad">Over its limit: {plan.tripped.join(', ')}</Badge>;
  const waits = plan.waitingFor;
  if (isOpenEnded(waits)) {
    return (
      <span title={waits.reason}>
        <Badge tone="warn">Waits: {waits.guard ?? 'check-ins'}</Badge>
      </span>
    );
  }
  return <Badge tone="good">No guard tripped</Badge>;
}
