// Root of the console: theme, session, routes and their pages.

import type { ComponentChildren } from 'preact';
import { LocationProvider, Route, Router, useLocation } from 'preact-iso';
import type { AppOverview } from '../contract/console.ts';
import { readSegment } from '../contract/text.ts';
import { Announcer } from './form/announcer.tsx';
import { consolePath } from './format/console-path.ts';
import { AppIndex, AppPlace, type AppTab } from './home/app-place.tsx';
import { AppsPage } from './home/apps-page.tsx';
import { NewcomerPage } from './home/newcomer-page.tsx';
import { NotFoundPage, Redirect } from './home/not-found-page.tsx';
import { Shell } from './home/shell.tsx';
import { lazyPage } from './part/lazy.tsx';
import { ThemeContext, useThemeState } from './part/theme.tsx';
import { JoinPage } from './session/provider-sign-in.tsx';
import { SessionGate } from './session/session-gate.tsx';
import { useSession } from './session/use-session.ts';

const ApprovalPage = lazyPage(() => import('./home/approvals-page.tsx'), 'ApprovalPage');
const ApprovalsPage = lazyPage(() => import('./home/approvals-page.tsx'), 'ApprovalsPage');
const AuditPage = lazyPage(() => import('./home/audit-page.tsx'), 'AuditPage');
const ChannelPage = lazyPage(() => import('./release/channel-page.tsx'), 'ChannelPage');
const DevicePage = lazyPage(() => import('./fleet/device-page.tsx'), 'DevicePage');
const FleetPage = lazyPage(() => import('./fleet/fleet-page.tsx'), 'FleetPage');
const ReleasePage = lazyPage(() => import('./release/release-page.tsx'), 'ReleasePage');
const SecondFactorPage = lazyPage(
  () => import('./settings/account-settings.tsx'),
  'SecondFactorPage',
);
const SettingsPage = lazyPage(() => import('./settings/settings-page.tsx'), 'SettingsPage');
const HelpPage = lazyPage(() => import('./home/help-page.tsx'), 'HelpPage');
const DevicesPage = lazyPage(() => import('./fleet/devices-page.tsx'), 'DevicesPage');

/** Pages that a one-time link opens, with or without a session. */
const BY_TOKEN = /^\/(invitation|password-reset|recovery|confirmation)\/([^/]+)$/;
const loadLinks = () => import('./session/link-page.tsx');
const LINK_PAGES = {
  invitation: lazyPage(loadLinks, 'InvitationPage'),
  'password-reset': lazyPage(loadLinks, 'PasswordResetPage'),
  recovery: lazyPage(loadLinks, 'RecoveryPage'),
  confirmation: lazyPage(loadLinks, 'ConfirmationPage'),
} as const;

export function App() {
  return (
    <ThemeContext.Provider value={useThemeState()}>
      <LocationProvider scope={consolePath.home}>
        <Announcer />
        <Entrance />
      </LocationProvider>
    </ThemeContext.Provider>
  );
}

/** Routes of the console. One-time links and the proof of an account open without a session. */
function Entrance() {
  const { path } = useLocation();
  const [, page, token] = BY_TOKEN.exec(path.slice(consolePath.home.length)) ?? [];
  if (token !== undefined) {
    const Page = LINK_PAGES[page as keyof typeof LINK_PAGES];
    return <Page key={token} token={token} />;
  }
  if (path === consolePath.join) return <JoinPage />;
  return (
    <SessionGate>
      <Shell>
        <Pages />
      </Shell>
    </SessionGate>
  );
}

const HOME = consolePath.home;

function Pages() {
  const { membership } = useSession();
  if (membership === undefined) return <NewcomerPage />;
  if (membership.needsSecondFactor) return <SecondFactorPage membership={membership} />;
  return (
    // Keyed by organization, so that no state of another organization stays.
    <Router key={membership.organization.id}>
      <Route path={HOME} component={ToApps} />
      <Route path={`${HOME}/sign-in`} component={ToApps} />
      <Route path={`${HOME}/setup`} component={ToApps} />
      <Route path={`${HOME}/apps`} component={AppsPage} />
      <Route path={`${HOME}/apps/:app`} component={AppRoute} />
      <Route path={`${HOME}/apps/:app/fleet`} component={FleetRoute} />
      <Route path={`${HOME}/apps/:app/fleet/devices`} component={DevicesRoute} />
      <Route path={`${HOME}/apps/:app/devices/:device`} component={DeviceRoute} />
      <Route path={`${HOME}/apps/:app/:channel`} component={ChannelRoute} />
      <Route path={`${HOME}/apps/:app/:channel/:version`} component={ReleaseRoute} />
      <Route path={`${HOME}/settings`} component={SettingsPage} />
      <Route path={`${HOME}/settings/:section`} component={SettingsPage} />
      <Route path={`${HOME}/audit`} component={AuditPage} />
      <Route path={`${HOME}/help`} component={HelpPage} />
      <Route path={`${HOME}/approvals`} component={ApprovalsPage} />
      <Route path={`${HOME}/approvals/:id`} component={ApprovalRoute} />
      <Route default component={NotFoundPage} />
    </Router>
  );
}

function ToApps() {
  return <Redirect to={consolePath.apps} />;
}

type Segments<Name extends string> = { readonly params: Readonly<Record<Name, string>> };

function ApprovalRoute({ params }: Segments<'id'>) {
  return <ApprovalPage key={params.id} id={params.id} />;
}

/** Parts of the path of a page of an app, without the app; '' for those that the path does not have. */
type Place = Readonly<Record<'channel' | 'version' | 'device', string>>;

/** Makes the route of a page of an app; `tab` is the one that the page has, where it is not a channel's. */
function appRoute(page: (app: AppOverview, place: Place) => ComponentChildren, tab?: AppTab) {
  return ({ params }: { params: Segments<'app'>['params'] & Partial<Place> }) => {
    const at = (name: keyof Place) => readSegment(params[name] ?? '');
    const place = { channel: at('channel'), version: at('version'), device: at('device') };
    return (
      <AppPlace appRef={readSegment(params.app)} channel={place.channel || undefined} tab={tab}>
        {(app) => page(app, place)}
      </AppPlace>
    );
  };
}

const AppRoute = appRoute((app) => <AppIndex app={app} />);
const FleetRoute = appRoute((app) => <FleetPage key={app.id} app={app} />, 'fleet');
const DevicesRoute = appRoute((app) => <DevicesPage key={app.id} app={app} />, 'devices');
const DeviceRoute = appRoute(
  (app, { device }) => <DevicePage key={`${app.id}/${device}`} app={app} deviceId={device} />,
  'devices',
);
const ChannelRoute = appRoute((app, { channel }) => (
  <ChannelPage key={`${app.id}/${channel}`} app={app} channel={channel} />
));
const ReleaseRoute = appRoute((app, { channel, version }) => (
  <ReleasePage key={`${channel}@${version}`} app={app} channel={channel} version={version} />
));
