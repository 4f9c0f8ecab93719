// Layout of every page of an app: its name, tabs for its channels, fleet and devices, and the actions of
// owners.

import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { AppList, AppOverview } from '../../contract/console.ts';
import { ApiError, call } from '../api/call.ts';
import { Dialog, FormDialog } from '../form/dialog.tsx';
import { Field } from '../form/field.tsx';
import { useFields } from '../form/form.tsx';
import { LoadedView, Notice } from '../form/notice.tsx';
import { consolePath, queryText } from '../format/console-path.ts';
import { channelNames, channelTabs } from '../format/serving.ts';
import { useLoad } from '../hook/use-load.ts';
import { Badge } from '../part/badge.tsx';
import { Name } from '../part/name.tsx';
import { StopControls } from '../rollout/stop-dialog.tsx';
import { useMay, useOrganization, useSession } from '../session/use-session.ts';
import { EditApp } from './edit-app.tsx';
import { NotFoundPage, Redirect } from './not-found-page.tsx';

const REFRESH_MS = 15_000;

/** Tab that is not a channel. */
export type AppTab = 'fleet' | 'devices';

/** Layout of an app's page. An unknown `channel` shows the not-found page. */
export function AppPlace(props: {
  appRef: string;
  channel: string | undefined;
  tab: AppTab | undefined;
  children: (app: AppOverview) => ComponentChildren;
}) {
  const { appRef, channel, tab, children } = props;
  const apps = useLoad(`apps${queryText({ org: useOrganization().id })}`, REFRESH_MS);
  return (
    <LoadedView of={apps}>
      {(found) => {
        const app = findApp(found, appRef);
        if (app === undefined) return <Elsewhere key={appRef} appRef={appRef} />;
        const isThere = channel === undefined || app.channels.some(({ name }) => name === channel);
        return (
          <>
            <AppTabs app={app} channel={channel} tab={tab} onChange={apps.reload} />
            {isThere ? children(app) : <NotFoundPage what={`The channel ${channel}`} />}
          </>
        );
      }}
    </LoadedView>
  );
}

/** Selects the organization of the app if the reader is a member; else shows the not-found page. */
function Elsewhere({ appRef }: { appRef: string }) {
  const { memberships, membership, choose } = useSession();
  const [isNowhere, setNowhere] = useState(false);
  useEffect(() => {
    let isOver = false;
    const search = async () => {
      for (const { organization } of memberships) {
        if (organization.id === membership?.organization.id) continue;
        const hasApp = await isIn(organization.id, appRef);
        if (isOver) return;
        if (hasApp) return choose(organization.id);
      }
      setNowhere(true);
    };
    void search();
    return () => {
      isOver = true;
    };
  }, [appRef, memberships, membership, choose]);
  return isNowhere ? <NotFoundPage what="This app" /> : null;
}

async function isIn(organizationId: string, appRef: string): Promise<boolean> {
  try {
    const apps = await call('GET', `apps${queryText({ org: organizationId })}`);
    return findApp(apps, appRef) !== undefined;
  } catch (error) {
    // An organization whose request fails counts as one without the app.
    if (error instanceof ApiError) return false;
    throw error;
  }
}

function findApp({ apps }: AppList, appRef: string): AppOverview | undefined {
  return apps.find(({ ref, id }) => ref === appRef || id === appRef);
}

/** Redirects to the app's first channel or its fleet. */
export function AppIndex({ app }: { app: AppOverview }) {
  const main = app.channels.find(({ name }) => name === 'stable') ?? app.channels[0];
  const to =
    main === undefined ? consolePath.fleet(app.ref) : consolePath.channel(app.ref, main.name);
  return <Redirect to={to} />;
}

/** Tabs of an app; `channel` or `tab` is the open one. */
function AppTabs(props: {
  app: AppOverview;
  channel: string | undefined;
  tab: AppTab | undefined;
  onChange: () => Promise<void>;
}) {
  const { app, channel, tab, onChange } = props;
  const [isAdding, setAdding] = useState(false);
  const mayAdd = useMay('owner') && app.archivedAt === null;
  return (
    <div class="place">
      <div class="place-head row apart">
        <p class="crumbs row muted small">
          <a href={consolePath.apps}>Apps</a>
          <span aria-hidden="true">/</span>
          <a href={consolePath.app(app.ref)}>
            <Name text={app.name} />
          </a>
          {app.archivedAt !== null && <Badge tone="quiet">Archived</Badge>}
          <EditApp app={app} onChange={onChange} />
        </p>
        <StopControls key={app.id} app={app} channel={channel} onChange={onChange} />
      </div>
      {app.archivedAt !== null && (
        <Notice tone="warn">
          This app is archived: it takes no releases. Its devices are answered as before.
        </Notice>
      )}
      <ChannelTabs app={app} channel={channel} tab={tab}>
        {mayAdd && (
          <button type="button" class="tab-add" onClick={() => setAdding(true)}>
            Add channel
          </button>
        )}
      </ChannelTabs>
      {isAdding && <NewChannel app={app} onClose={() => setAdding(false)} onCreated={onChange} />}
    </div>
  );
}

function NewChannel(props: {
  app: AppOverview;
  onClose: () => void;
  onCreated: () => Promise<void>;
}) {
  const { app, onClose, onCreated } = props;
  const { route } = useLocation();
  const { values, field } = useFields({ name: '' });
  const create = async () => {
    await call('POST', 'channels', { app: app.ref, ...values });
    await onCreated();
    route(consolePath.channel(app.ref, values.name));
  };
  return (
    <FormDialog title="Add a channel" verb="Add channel" onSend={create} onClose={onClose}>
      <Field
        label="Name"
        hint="Part of the address devices ask, such as beta or nightly. It cannot be changed later."
        isRequired
        isFocused
        isCode
        {...field('name')}
      />
    </FormDialog>
  );
}

/** Tabs, with `children` at their end. */
function ChannelTabs(props: {
  app: AppOverview;
  channel: string | undefined;
  tab: AppTab | undefined;
  children: ComponentChildren;
}) {
  const { app, channel, tab, children } = props;
  const [isChoosing, setChoosing] = useState(false);
  const names = channelNames(app);
  const shown = channelTabs(names, channel);
  const tabs = useRef<HTMLElement>(null);
  // Scrolls the open tab into view on a narrow screen.
  useEffect(() => {
    const open = tabs.current?.querySelector('[aria-current]');
    open?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [channel, tab]);
  return (
    <>
      <nav ref={tabs} class="tabs line tight" aria-label="Channels and fleet">
        {shown.map((name) => (
          <a
            key={name}
            href={consolePath.channel(app.ref, name)}
            title={name}
            aria-current={name === channel ? 'page' : undefined}
          >
            {name}
          </a>
        ))}
        {shown.length < names.length && (
          <button type="button" onClick={() => setChoosing(true)}>
            All {names.length} channels…
          </button>
        )}
        <a href={consolePath.fleet(app.ref)} aria-current={tab === 'fleet' ? 'page' : undefined}>
          Fleet
        </a>
        <a
          href={consolePath.devices(app.ref)}
          aria-current={tab === 'devices' ? 'page' : undefined}
        >
          Devices
        </a>
        {children}
      </nav>
      {isChoosing && <ChannelMenu app={app.ref} names={names} onClose={() => setChoosing(false)} />}
    </>
  );
}

function ChannelMenu(props: { app: string; names: readonly string[]; onClose: () => void }) {
  const { app, names, onClose } = props;
  const [text, setText] = useState('');
  const found = names.filter((name) => name.toLowerCase().includes(text.trim().toLowerCase()));
  return (
    <Dialog title="Channels" isDisposable onClose={onClose}>
      <Field label="Name contains" value={text} onInput={setText} isFocused />
      <ul class="found" aria-label="Channels found">
        {found.map((name) => (
          <li key={name}>
            <a class="menu-item" href={consolePath.channel(app, name)} onClick={onClose}>
              <Name text={name} />
            </a>
          </li>
        ))}
        {found.length === 0 && <li class="muted">No channel has this in its name.</li>}
      </ul>
    </Dialog>
  );
}
