// Webhooks by app: releases that are published when the code host announces them.

import { queryText } from '../format/query-text.ts';
import { useLoad } from '../hook/use-load.ts';
import { Empty } from '../part/empty.tsx';
import { LoadedView } from '../part/loaded-view.tsx';
import { useOrganization } from '../session/use-session.ts';
import { WebhookCard } from './webhook-card.tsx';

/** Section with one card per app. */
export function WebhookSettings() {
  const { id: org } = useOrganization();
  const apps = useLoad(`apps${queryText({ org })}`);
  return (
    <LoadedView of={apps}>
      {(found) =>
        found.apps.length === 0 ? (
          <Empty title="No apps yet">
            <p class="hint">Create an app first: a webhook publishes the releases of one.</p>
          </Empty>
        ) : (
          found.apps.map((app) => <WebhookCard key={app.id} app={app} />)
        )
      }
    </LoadedView>
  );
}
