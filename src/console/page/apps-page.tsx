// Overview of an organization: what needs a person, its apps with what each channel serves, and the dialog
// for a new app.

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { AppOverview, ChannelOverview } from '../../contract/console.ts';
import { call } from '../api/call.ts';
import { consolePath, queryText } from '../format/console-path.ts';
import { countText, numberText } from '../format/figure-text.ts';
import { channelOrder, servingText } from '../format/serving.ts';
import { useLoad } from '../hook/use-load.ts';
import { Badge, StandingBadge } from '../part/badge.tsx';
import { Empty, ShareBar } from '../part/card.tsx';
import { Dialog } from '../part/dialog.tsx';
import { Field } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { Name } from '../part/name.tsx';
import { LoadedView } from '../part/notice.tsx';
import { PageHead, useTitle } from '../part/page-head.tsx';
import { AsOf, Time } from '../part/time.tsx';
import { useMay, useOrganization } from '../session/use-session.ts';
import { AttentionStrip } from './attention-strip.tsx';

const REFRESH_MS = 5000;

/** Page with the list of apps, or the first step if there is none. */
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
      {apps.data !== undefined && apps.data.apps.length > 0 && <AttentionStrip />}
      <LoadedView of={apps}>
        {(found) =>
          found.apps.length === 0 ? (
            <Empty title="No apps yet">
              <p class="hint">
                An app is what your devices ask updates for.{' '}
                {mayCreate
                  ? 'Create it, create a key in Settings, publish.'
                  : 'An owner can create one.'}
              </p>
              {create}
            </Empty>
          ) : (
            <AppCards apps={found.apps} />
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

/** Number of apps above which the page has a filter by name. */
const FILTER_FROM = 8;

function AppCards({ apps }: { apps: readonly AppOverview[] }) {
  const [text, setText] = useState('');
  const [isWhole, setWhole] = useState(false);
  const wanted = text.trim().toLowerCase();
  const archived = apps.filter(({ archivedAt }) => archivedAt !== null).length;
  const found = apps
    .filter(({ archivedAt }) => isWhole || archivedAt === null)
    .filter(({ ref, name }) => `${ref} ${name}`.toLowerCase().includes(wanted));
  return (
    <>
      {apps.length > FILTER_FROM && (
        <div class="filters bare">
          <Field label="Name or ref contains" type="search" value={text} onInput={setText} />
        </div>
      )}
      <div class="apps">
        {found.map((app) => (
          <AppCard key={app.id} app={app} />
        ))}
      </div>
      {found.length === 0 && wanted !== '' && <Empty title="No app has this in its name or ref" />}
      {archived > 0 && (
        <p>
          <button
            type="button"
            class="link"
            aria-expanded={isWhole}
            onClick={() => setWhole(!isWhole)}
          >
            {isWhole ? 'Hide archived apps' : `Show ${countText(archived, 'archived app')}`}
          </button>
        </p>
      )}
    </>
  );
}

/** Maximum number of channels in a card; a link to the app leads to the others. */
const CHANNELS_MAX = 6;

function AppCard({ app }: { app: AppOverview }) {
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

function ChannelRow({ app, channel }: { app: AppOverview; channel: ChannelOverview }) {
  const { next, standing } = channel;
  const { rolling } = standing;
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
            <ShareBar percent={rolloutPct} label={`Rollout of ${version}`} />
          </a>
        ))}
        {next !== null && (
          <span class="muted">
            then {next.rollout}% {next.at !== null && <Time at={next.at} />}
          </span>
        )}
      </span>
    </li>
  );
}

/** What the channel's devices get, and the state of the newest release if that is another one. */
function ChannelState({ app, channel }: { app: string; channel: ChannelOverview }) {
  const { name, newest, standing, follows } = channel;
  const serving = servingText(standing, name);
  if (newest === null && serving === undefined) {
    return <span class="muted">Nothing published yet</span>;
  }
  const isServed = newest?.standing.state === 'serving' && standing.serving.length === 1;
  return (
    <span class="channel-newest">
      {!isServed && (
        <span class="channel-serving">
          {serving === undefined ? (
            <span class="muted">No release at 100%</span>
          ) : (
            <>
              <span class="muted">Serving</span> <span class="code">{serving}</span>
            </>
          )}
        </span>
      )}
      {newest === null ? (
        <span class="muted">follows {follows}</span>
      ) : (
        <>
          <a class="code" href={consolePath.release(app, name, newest.version)}>
            {newest.version}
          </a>
          <StandingBadge state={newest.standing.state} />
          <span class="muted">
            <Time at={newest.standing.change?.at ?? newest.createdAt} />
          </span>
        </>
      )}
    </span>
  );
}

/** Dialog for a new app; opens the app after creating it. */
function NewAppDialog(props: { organizationId: string; onClose: () => void }) {
  const { organizationId, onClose } = props;
  const { route } = useLocation();
  const [name, setName] = useState('');
  const [ownRef, setOwnRef] = useState<string>();
  const [channels, setChannels] = useState('stable, beta');
  const ref = ownRef ?? refFrom(name);
  const create = async () => {
    const names = channels.split(/[\s,]+/).filter((channel) => channel !== '');
    await call('POST', 'apps', { org: organizationId, ref, name, channels: names });
    route(consolePath.app(ref));
  };
  return (
    <Dialog title="Create an app" onClose={onClose}>
      <Form send="Create app" onSend={create} onCancel={onClose}>
        <Field name="name" label="Name" value={name} onInput={setName} isRequired isFocused />
        <Field
          name="ref"
          label="Ref"
          value={ref}
          onInput={setOwnRef}
          hint="Part of the address devices ask. It cannot be changed later."
          isRequired
          isCode
        />
        <Field
          name="channels"
          label="Channels"
          value={channels}
          onInput={setChannels}
          hint="Separated by commas; more can be added later."
          isRequired
          isCode
        />
      </Form>
    </Dialog>
  );
}

/** Suggests a ref: the characters of the name that a ref may have. */
function refFrom(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 64);
}
