// Webhooks by app: releases that are published when the code host announces them.

import { useState } from 'preact/hooks';
import type { EnabledWebhooks } from '../../contract/console.ts';
import { WEBHOOK_PROVIDERS } from '../../contract/webhook-provider.ts';
import { queryText } from '../format/console-path.ts';
import { useLoad } from '../hook/use-load.ts';
import { Empty } from '../part/card.tsx';
import { Choice } from '../part/field.tsx';
import { LoadedView } from '../part/notice.tsx';
import { useMay, useOrganization } from '../session/use-session.ts';
import { EnableWebhookDialog } from './enable-webhook-dialog.tsx';
import { WebhookCard } from './webhook-card.tsx';

const REFRESH_MS = 10_000;

/** Section with one card per app that has a webhook, and a choice of the app that gets its first one. */
export function WebhookSettings() {
  const { id: org } = useOrganization();
  const mayChange = useMay('owner');
  const enabled = useLoad(`webhooks/enabled${queryText({ org })}`, REFRESH_MS);
  return (
    <LoadedView of={enabled}>
      {(found) => (
        <>
          {mayChange && <FirstWebhook found={found} onEnabled={enabled.reload} />}
          {found.apps.length === 0 ? (
            <Empty title="No webhook is on">
              <p class="hint">Releases come from the console and from keys only.</p>
            </Empty>
          ) : (
            found.apps.map((app) => (
              <WebhookCard key={app.ref} app={app} onChanged={enabled.reload} />
            ))
          )}
        </>
      )}
    </LoadedView>
  );
}

/** Choice of an app without a webhook; choosing one opens the dialog that enables it. */
function FirstWebhook(props: { found: EnabledWebhooks; onEnabled: () => Promise<void> }) {
  const { found, onEnabled } = props;
  const { id: org } = useOrganization();
  const apps = useLoad(`apps${queryText({ org })}`);
  const [chosen, setChosen] = useState<string>();
  const without = (apps.data?.apps ?? []).filter(
    ({ ref }) => !found.apps.some((app) => app.ref === ref),
  );
  return (
    <LoadedView of={apps}>
      {({ apps: all }) =>
        all.length === 0 ? (
          <p class="hint">Create an app first: a webhook publishes the releases of one.</p>
        ) : (
          <>
            {without.length > 0 && (
              <div class="filters bare">
                <Choice
                  label="Enable a webhook for"
                  value=""
                  options={[
                    { value: '', label: 'Choose an app…' },
                    ...without.map(({ ref, name }) => ({ value: ref, label: `${name} (${ref})` })),
                  ]}
                  onChoose={(ref) => setChosen(ref === '' ? undefined : ref)}
                />
              </div>
            )}
            {chosen !== undefined && (
              <EnableWebhookDialog
                app={chosen}
                providers={WEBHOOK_PROVIDERS}
                onEnabled={onEnabled}
                onClose={() => setChosen(undefined)}
              />
            )}
          </>
        )
      }
    </LoadedView>
  );
}
