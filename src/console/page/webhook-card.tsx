// Webhook of one app: enabling it, its URL and secret (shown once), and its deliveries.

import { useState } from 'preact/hooks';
import type { AppOverview, IssuedWebhookSecret, WebhookDetail } from '../../contract/console.ts';
import type { WebhookDelivery } from '../../contract/resource.ts';
import { call } from '../api/call.ts';
import { queryText } from '../format/query-text.ts';
import { useAction } from '../hook/use-action.ts';
import { useLoad } from '../hook/use-load.ts';
import { Badge, type Tone } from '../part/badge.tsx';
import { Card } from '../part/card.tsx';
import { ConfirmDialog } from '../part/confirm-dialog.tsx';
import { type Column, DataTable } from '../part/data-table.tsx';
import { LoadedView } from '../part/loaded-view.tsx';
import { Name } from '../part/name.tsx';
import { Notice } from '../part/notice.tsx';
import { Secret } from '../part/secret.tsx';
import { Time } from '../part/time.tsx';
import { useMay } from '../session/use-session.ts';

const REFRESH_MS = 10_000;

/** Card of a webhook: owners enable and disable it, all members see its deliveries. */
export function WebhookCard({ app }: { app: AppOverview }) {
  const webhook = useLoad(`webhooks${queryText({ app: app.ref })}`, REFRESH_MS);
  const mayChange = useMay('owner');
  const action = useAction();
  const [enabled, setEnabled] = useState<IssuedWebhookSecret>();
  const isOn = webhook.data?.enabled === true;
  const [isDisabling, setDisabling] = useState(false);
  const enable = async () => {
    setEnabled(await call('POST', 'webhooks', { app: app.ref, provider: 'github' }));
    await webhook.reload();
  };
  const disable = async () => {
    await call('POST', 'webhooks/disable', { app: app.ref });
    setEnabled(undefined);
    await webhook.reload();
  };
  return (
    <Card
      title={app.name}
      isFlush
      aside={
        mayChange && webhook.data !== undefined ? (
          <button
            type="button"
            class="button plain small"
            disabled={action.isBusy}
            onClick={() => (isOn ? setDisabling(true) : void action.run(enable))}
          >
            {isOn ? 'Disable' : 'Enable for GitHub'}
          </button>
        ) : undefined
      }
    >
      {action.error !== undefined && <Notice tone="bad">{action.error}</Notice>}
      {enabled !== undefined && <Enablement {...enabled} />}
      {isDisabling && (
        <ConfirmDialog
          title="Disable webhook"
          verb="Disable webhook"
          onConfirm={disable}
          onClose={() => setDisabling(false)}
        >
          <p>Deliveries are refused from now on. To enable it again makes a new secret.</p>
        </ConfirmDialog>
      )}
      <LoadedView of={webhook}>{(found) => <WebhookState webhook={found} />}</LoadedView>
    </Card>
  );
}

function Enablement({ url, secret }: IssuedWebhookSecret) {
  return (
    <div class="padded">
      <Notice tone="warn">
        Add both to the repository’s webhooks, with the content type application/json and the event
        Releases. The secret is shown this once.
      </Notice>
      <Secret label="Payload URL" text={url} what="URL" />
      <Secret label="Secret" text={secret} what="secret" />
    </div>
  );
}

function WebhookState({ webhook }: { webhook: WebhookDetail }) {
  if (!webhook.enabled) {
    return <p class="hint padded">Off. Releases come from the console and from keys only.</p>;
  }
  const { url, createdAt, deliveries } = webhook;
  return (
    <>
      <p class="padded">
        <Badge tone="good">On</Badge> <span class="code address">{url}</span>{' '}
        <span class="muted">
          since <Time at={createdAt} />
        </span>
      </p>
      {deliveries.length === 0 ? (
        <p class="hint padded">
          Nothing was delivered yet. GitHub sends a ping as soon as the webhook is saved there.
        </p>
      ) : (
        <DataTable
          caption="Last deliveries"
          columns={COLUMNS}
          rows={deliveries}
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
