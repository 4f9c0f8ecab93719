// Root of the console: theme, session, routes and their pages.

import { LocationProvider, Route, Router, useLocation } from 'preact-iso';
import { readSegment } from '../contract/text.ts';
import { Announcer } from './form/announcer.tsx';
import { consolePath } from './format/console-path.ts';
import { AppIndex, AppPlace } from './home/app-place.tsx';
import { AppsPage } from './home/apps-page.tsx';
import { NewcomerPage } from './home/newcomer-page.tsx';
import { NotFoundPage, Redirect } from './home/not-found-page.tsx';
import { Shell } from './home/shell.tsx';
import { lazyPage } from './part/lazy.tsx';
import { ThemeContext, useThemeState } from './part/theme.tsx';
import { JoinPage } from './session/provider-sign-in.tsx';
import { SessionGate } from './session/session-gate.tsx';
import { useSession } from './session/use-session.ts';

const ApprovalPage = lazyPage(() =>
  import('./home/approvals-page.tsx').then((page) => page.ApprovalPage),
);
const ApprovalsPage = lazyPage(() =>
  import('./home/approvals-page.tsx').then((page) => page.ApprovalsPage),
);
const AuditPage = lazyPage(() => import('./home/audit-page.tsx').then((page) => page.AuditPage));
const ChannelPage = lazyPage(() =>
  import('./release/channel-page.tsx').then((page) => page.ChannelPage),
);
const DevicePage = lazyPage(() =>
  import('./fleet/device-page.tsx').then((page) => page.DevicePage),
);
const FleetPage = lazyPage(() => import('./fleet/fleet-page.tsx').then((page) => page.FleetPage));
const ReleasePage = lazyPage(() =>
  import('./release/release-page.tsx').then((page) => page.ReleasePage),
);
const SecondFactorPage = lazyPage(() =>
  import('./settings/account-settings.tsx').then((page) => page.SecondFactorPage),
);
const SettingsPage = lazyPage(() =>
  import('./settings/settings-page.tsx').then((page) => page.SettingsPage),
);
const HelpPage = lazyPage(() => import('./home/help-page.tsx').then((page) => page.HelpPage));
const DevicesPage = lazyPage(() =>
  import('./fleet/devices-page.tsx').then((page) => page.DevicesPage),
);

/** Pages that a one-time link opens, with or without a session. */
const BY_TOKEN = /^\/(invitation|password-reset|recovery|confirmation)\/([^/]+)$/;
const loadLinks = () => import('./session/link-page.tsx');
const LINK_PAGES = {
  invitation: lazyPage(() => loadLinks().then((page) => page.InvitationPage)),
  'password-reset': lazyPage(() => loadLinks().then((page) => page.PasswordResetPage)),
  recovery: lazyPage(() => loadLinks().then((page) => page.RecoveryPage)),
  confirmation: lazyPage(() => loadLinks().then((page) => page.ConfirmationPage)),
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

function AppRoute({ params }: Segments<'app'>) {
  return <AppPlace appRef={readSegment(params.app)}>{(app) => <AppIndex app={app} />}</AppPlace>;
}

function ApprovalRoute({ params }: Segments<'id'>) {
  return <ApprovalPage key={params.id} id={params.id} />;
}

function FleetRoute({ params }: Segments<'app'>) {
  return (
    <AppPlace appRef={readSegment(params.app)} tab="fleet">
      {(app) => <FleetPage key={app.id} app={app} />}
    </AppPlace>
  );
}

function DevicesRoute({ params }: Segments<'app'>) {
  return (
    <AppPlace appRef={readSegment(params.app)} tab="devices">
      {(app) => <DevicesPage key={app.id} app={app} />}
    </AppPlace>
  );
}

function DeviceRoute({ params }: Segments<'app' | 'device'>) {
  const deviceId = readSegment(params.device);
  return (
    <AppPlace appRef={readSegment(params.app)} tab="devices">
      {(app) => <DevicePage key={`${app.id}/${deviceId}`} app={app} deviceId={deviceId} />}
    </AppPlace>
  );
}

function ChannelRoute({ params }: Segments<'app' | 'channel'>) {
  const channel = readSegment(params.channel);
  return (
    <AppPlace appRef={readSegment(params.app)} channel={channel}>
      {(app) => <ChannelPage key={`${app.id}/${channel}`} app={app} channel={channel} />}
    </AppPlace>
  );
}

function ReleaseRoute({ params }: Segments<'app' | 'channel' | 'version'>) {
  const channel = readSegment(params.channel);
  const version = readSegment(params.version);
  const key = `${channel}@${version}`;
  return (
    <AppPlace appRef={readSegment(params.app)} channel={channel}>
      {(app) => <ReleasePage key={key} app={app} channel={channel} version={version} />}
    </AppPlace>
  );
}
