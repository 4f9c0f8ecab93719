// Webhooks of one app: those that are on, and what they delivered last.

import { useState } from 'preact/hooks';
import type { AppOverview, WebhookDetail } from '../../contract/console.ts';
import type { WebhookDelivery } from '../../contract/resource.ts';
import { WEBHOOK_PROVIDERS } from '../../contract/webhook-provider.ts';
import { queryText } from '../format/query-text.ts';
import { PROVIDER_NAMES } from '../format/webhook-text.ts';
import { useLoad } from '../hook/use-load.ts';
import { Badge, type Tone } from '../part/badge.tsx';
import { Card } from '../part/card.tsx';
import { type Column, DataTable } from '../part/data-table.tsx';
import { LoadedView } from '../part/loaded-view.tsx';
import { Name } from '../part/name.tsx';
import { Time } from '../part/time.tsx';
import { useMay } from '../session/use-session.ts';
import { EnableWebhookDialog } from './enable-webhook-dialog.tsx';
import { WebhookRow } from './webhook-row.tsx';

const REFRESH_MS = 10_000;

/** Card of an app's webhooks: owners enable and change them, all members see their deliveries. */
export function WebhookCard({ app }: { app: AppOverview }) {
  const loaded = useLoad(`webhooks${queryText({ app: app.ref })}`, REFRESH_MS);
  const mayChange = useMay('owner');
  const [isEnabling, setEnabling] = useState(false);
  // Chosen when the dialog opens: one that was just enabled still has its secret to show.
  const [free, setFree] = useState<readonly (typeof WEBHOOK_PROVIDERS)[number][]>([]);
  const begin = ({ webhooks }: WebhookDetail) => {
    const on = webhooks.filter(({ enabled }) => enabled).map(({ provider }) => provider);
    setFree(WEBHOOK_PROVIDERS.filter((provider) => !on.includes(provider)));
    setEnabling(true);
  };
  const { data } = loaded;
  const isFull =
    data?.webhooks.filter(({ enabled }) => enabled).length === WEBHOOK_PROVIDERS.length;
  return (
    <Card
      title={app.name}
      isFlush
      aside={
        mayChange && data !== undefined && !isFull ? (
          <button type="button" class="button plain small" onClick={() => begin(data)}>
            Enable…
          </button>
        ) : undefined
      }
    >
      {isEnabling && (
        <EnableWebhookDialog
          app={app.ref}
          providers={free}
          onEnabled={loaded.reload}
          onClose={() => setEnabling(false)}
        />
      )}
      <LoadedView of={loaded}>
        {(found) => <WebhookList app={app.ref} found={found} onChanged={loaded.reload} />}
      </LoadedView>
    </Card>
  );
}

function WebhookList(props: { app: string; found: WebhookDetail; onChanged: () => Promise<void> }) {
  const { app, found, onChanged } = props;
  const on = found.webhooks.filter(({ enabled }) => enabled);
  if (on.length === 0) {
    return <p class="hint padded">Off. Releases come from the console and from keys only.</p>;
  }
  return (
    <>
      {on.map((webhook) => (
        <WebhookRow key={webhook.provider} app={app} webhook={webhook} onChanged={onChanged} />
      ))}
      {found.deliveries.length === 0 ? (
        <p class="hint padded">
          Nothing was delivered yet. GitHub sends a ping as soon as the webhook is saved there.
        </p>
      ) : (
        <DataTable
          caption="Last deliveries"
          columns={COLUMNS}
          rows={found.deliveries}
          keyOf={({ id }) => id}
        />
      )}
    </>
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
