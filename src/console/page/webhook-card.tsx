// Webhooks of one app: those that are on, and what they delivered last.

import { useState } from 'preact/hooks';
import type { EnabledWebhooks } from '../../contract/console.ts';
import type { WebhookDelivery } from '../../contract/resource.ts';
import { WEBHOOK_PROVIDERS, type WebhookProvider } from '../../contract/webhook-provider.ts';
import { PROVIDER_NAMES } from '../format/webhook.ts';
import { Badge, type Tone } from '../part/badge.tsx';
import { Card } from '../part/card.tsx';
import { type Column, DataTable } from '../part/data-table.tsx';
import { Name } from '../part/name.tsx';
import { Time } from '../part/time.tsx';
import { useMay } from '../session/use-session.ts';
import { EnableWebhookDialog } from './enable-webhook-dialog.tsx';
import { WebhookRow } from './webhook-row.tsx';

type AppWebhooks = EnabledWebhooks['apps'][number];

/** Card of an app's webhooks: owners enable and change them, all members see their deliveries. */
export function WebhookCard(props: { app: AppWebhooks; onChanged: () => Promise<void> }) {
  const { app, onChanged } = props;
  const mayChange = useMay('owner');
  const [isEnabling, setEnabling] = useState(false);
  // Chosen when the dialog opens: one that was just enabled still has its secret to show.
  const [free, setFree] = useState<readonly WebhookProvider[]>([]);
  const on = app.webhooks.filter(({ enabled }) => enabled);
  const begin = () => {
    const taken = on.map(({ provider }) => provider);
    setFree(WEBHOOK_PROVIDERS.filter((provider) => !taken.includes(provider)));
    setEnabling(true);
  };
  return (
    <Card
      title={app.name}
      isFlush
      aside={
        mayChange && on.length < WEBHOOK_PROVIDERS.length ? (
          <button type="button" class="button plain small" onClick={begin}>
            Enable another…
          </button>
        ) : undefined
      }
    >
      {isEnabling && (
        <EnableWebhookDialog
          app={app.ref}
          providers={free}
          onEnabled={onChanged}
          onClose={() => setEnabling(false)}
        />
      )}
      {on.map((webhook) => (
        <WebhookRow key={webhook.provider} app={app.ref} webhook={webhook} onChanged={onChanged} />
      ))}
      {app.deliveries.length === 0 ? (
        <p class="hint padded">
          Nothing was delivered yet. GitHub sends a ping as soon as the webhook is saved there.
        </p>
      ) : (
        <DataTable
          caption="Last deliveries"
          columns={COLUMNS}
          rows={app.deliveries}
          keyOf={({ id }) => id}
        />
      )}
    </Card>
  );
}

const OUTCOME_TONES: Readonly<Record<WebhookDelivery['outcome'], Tone>> = {
  created: 'good',
  ignored: 'quiet',
  duplicate: 'quiet',
  refused: 'bad',
};

const COLUMNS: readonly Column<WebhookDelivery>[] = [
  { label: 'At', render: ({ at }) => <Time at={at} /> },
  { label: 'From', render: ({ provider }) => PROVIDER_NAMES[provider] },
  {
    label: 'Event',
    render: ({ event, action }) => <Name text={[event, action].filter(Boolean).join(' ')} />,
  },
  {
    label: 'Outcome',
    render: ({ outcome }) => <Badge tone={OUTCOME_TONES[outcome]}>{outcome}</Badge>,
  },
  {
    label: 'Version',
    render: ({ version }) => <span class="code">{version ?? '–'}</span>,
  },
  { label: 'Why', render: ({ reason }) => <Name text={reason ?? ''} /> },
];
