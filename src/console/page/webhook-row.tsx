// One webhook of an app that is on: where it is delivered to, how releases come, and what owners may change.

import { useState } from 'preact/hooks';
import type { AppWebhook, IssuedWebhookSecret } from '../../contract/console.ts';
import { call } from '../api/call.ts';
import {
  PROVIDER_NAMES,
  settingsOf,
  webhookDraft,
  webhookObstacle,
  webhookText,
} from '../format/webhook.ts';
import { Badge } from '../part/badge.tsx';
import { ConfirmDialog, Dialog } from '../part/dialog.tsx';
import { Form } from '../part/form.tsx';
import { Time } from '../part/time.tsx';
import { useMay } from '../session/use-session.ts';
import { IssuedWebhookDialog } from './enable-webhook-dialog.tsx';
import { WebhookFields } from './webhook-fields.tsx';

type Question = 'settings' | 'secret' | 'disable';

/** Row of a webhook; `onChanged` loads it again. */
export function WebhookRow(props: {
  app: string;
  webhook: AppWebhook;
  onChanged: () => Promise<void>;
}) {
  const { app, webhook, onChanged } = props;
  const { provider, url, createdAt } = webhook;
  const mayChange = useMay('owner');
  const [asking, setAsking] = useState<Question>();
  const [issued, setIssued] = useState<IssuedWebhookSecret>();
  const host = PROVIDER_NAMES[provider];
  const close = () => setAsking(undefined);
  const renew = async () => {
    setIssued(await call('POST', 'webhooks', { app, provider }));
    await onChanged();
  };
  const disable = async () => {
    await call('POST', 'webhooks/disable', { app, provider });
    await onChanged();
  };
  return (
    <div class="webhook padded">
      <p>
        <Badge tone="good">{host}</Badge> <span class="code address">{url}</span>{' '}
        <span class="muted">
          since <Time at={createdAt} />
        </span>
      </p>
      <p class="hint">{webhookText(webhook)}</p>
      {mayChange && (
        <div class="form-actions">
          <RowButton label="Settings…" of={host} onClick={() => setAsking('settings')} />
          <RowButton label="New secret…" of={host} onClick={() => setAsking('secret')} />
          <RowButton label="Disable…" of={host} onClick={() => setAsking('disable')} />
        </div>
      )}
      {asking === 'settings' && (
        <SettingsDialog app={app} webhook={webhook} onSaved={onChanged} onClose={close} />
      )}
      {asking === 'secret' && (
        <ConfirmDialog
          title={`New secret for ${host}`}
          verb="Make it"
          onConfirm={renew}
          onClose={close}
        >
          <p>Deliveries that are signed with the present secret are refused from then on.</p>
        </ConfirmDialog>
      )}
      {asking === 'disable' && (
        <ConfirmDialog
          title={`Disable the webhook of ${host}`}
          verb="Disable webhook"
          onConfirm={disable}
          onClose={close}
        >
          <p>Deliveries are refused from now on. To enable it again makes a new secret.</p>
        </ConfirmDialog>
      )}
      {issued !== undefined && (
        <IssuedWebhookDialog
          provider={provider}
          issued={issued}
          onClose={() => setIssued(undefined)}
        />
      )}
    </div>
  );
}

function RowButton(props: { label: string; of: string; onClick: () => void }) {
  const { label, of, onClick } = props;
  return (
    <button
      type="button"
      class="button plain small"
      aria-label={`${label} ${of}`}
      onClick={onClick}
    >
      {label}
    </button>
  );
}

function SettingsDialog(props: {
  app: string;
  webhook: AppWebhook;
  onSaved: () => Promise<void>;
  onClose: () => void;
}) {
  const { app, webhook, onSaved, onClose } = props;
  const { provider } = webhook;
  const [draft, setDraft] = useState(webhookDraft(webhook));
  const save = async () => {
    await call('PATCH', 'webhooks', { app, provider, ...settingsOf(draft) });
    await onSaved();
    onClose();
  };
  return (
    <Dialog title={`Releases from ${PROVIDER_NAMES[provider]}`} onClose={onClose}>
      <Form send="Save" onSend={save} onCancel={onClose} obstacle={webhookObstacle(draft)}>
        <WebhookFields draft={draft} onChange={setDraft} />
      </Form>
    </Dialog>
  );
}
