// Webhooks, app by app: releases that publish themselves when the forge says they are out.

import type { AppSummary } from '../api/resource.ts';
import { queryText } from '../format/query-text.ts';
import { useLoad } from '../hook/use-load.ts';
import { Empty } from '../part/empty.tsx';
import { LoadedView } from '../part/loaded-view.tsx';
import { useOrganization } from '../session/use-session.ts';
import { WebhookCard } from './webhook-card.tsx';

/** One card for each app. */
export function WebhookSettings() {
  const { id: org } = useOrganization();
  const apps = useLoad<{ readonly apps: readonly AppSummary[] }>(`apps${queryText({ org })}`);
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
