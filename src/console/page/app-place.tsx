// Layout of every page of one app: loads the app and shows its channels and its fleet as tabs.

import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { AppList, AppOverview } from '../../contract/console.ts';
import { ApiError, call } from '../api/call.ts';
import { queryText } from '../format/console-path.ts';
import { useLoad } from '../hook/use-load.ts';
import { LoadedView } from '../part/notice.tsx';
import { useOrganization, useSession } from '../session/use-session.ts';
import { AppTabs } from './app-tabs.tsx';
import { NotFoundPage } from './not-found-page.tsx';

const REFRESH_MS = 15_000;

/**
 * Layout of an app's page. `channel` is the page's channel, if any; an unknown channel shows the not-found
 * page.
 */
export function AppPlace(props: {
  appRef: string;
  channel?: string;
  children: (app: AppOverview) => ComponentChildren;
}) {
  const { appRef, channel, children } = props;
  const apps = useLoad(`apps${queryText({ org: useOrganization().id })}`, REFRESH_MS);
  return (
    <LoadedView of={apps}>
      {(found) => {
        const app = findApp(found, appRef);
        if (app === undefined) return <Elsewhere key={appRef} appRef={appRef} />;
        const isThere = channel === undefined || app.channels.some(({ name }) => name === channel);
        return (
          <>
            <AppTabs app={app} channel={channel} onChange={apps.reload} />
            {isThere ? children(app) : <NotFoundPage what={`The channel ${channel}`} />}
          </>
        );
      }}
    </LoadedView>
  );
}

/**
 * Switches to the organization that the app belongs to, when the reader is a member; else shows the not-found
 * page.
 */
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
