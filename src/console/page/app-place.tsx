// The frame of every page of one app: finds the app, and shows its channels and its fleet as tabs.

import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ApiError } from '../api/api-error.ts';
import { call } from '../api/call.ts';
import type { AppSummary } from '../api/resource.ts';
import { queryText } from '../format/query-text.ts';
import { useLoad } from '../hook/use-load.ts';
import { LoadedView } from '../part/loaded-view.tsx';
import { useOrganization, useSession } from '../session/use-session.ts';
import { AppTabs } from './app-tabs.tsx';
import { NotFoundPage } from './not-found-page.tsx';

type Apps = { readonly apps: readonly AppSummary[] };

const REFRESH_MS = 15_000;

/** `channel` is that of the page, if it is about one; one that the app does not have is not found. */
export function AppPlace(props: {
  appRef: string;
  channel?: string;
  children: (app: AppSummary) => ComponentChildren;
}) {
  const { appRef, channel, children } = props;
  const apps = useLoad<Apps>(`apps${queryText({ org: useOrganization().id })}`, REFRESH_MS);
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

/** A link may lead into another of the reader's organizations: goes there, or says that there is nothing. */
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
    const apps = await call<Apps>('GET', `apps${queryText({ org: organizationId })}`);
    return findApp(apps, appRef) !== undefined;
  } catch (error) {
    // One that cannot be asked has nothing to show, either.
    if (error instanceof ApiError) return false;
    throw error;
  }
}

function findApp({ apps }: Apps, appRef: string): AppSummary | undefined {
  return apps.find(({ ref, id }) => ref === appRef || id === appRef);
}
