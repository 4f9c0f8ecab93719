// Dialog that enables a webhook of a code host, and shows its address and secret once.

import { useState } from 'preact/hooks';
import type { IssuedWebhookSecret } from '../../contract/console.ts';
import type { WebhookProvider } from '../../contract/webhook-provider.ts';
import { call } from '../api/call.ts';
import {
  isReachableAddress,
  PROVIDER_NAMES,
  settingsOf,
  webhookDraft,
  webhookObstacle,
} from '../format/webhook.ts';
import { Secret } from '../part/copy-button.tsx';
import { Dialog } from '../part/dialog.tsx';
import { Choice } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { Notice } from '../part/notice.tsx';
import { WebhookFields } from './webhook-fields.tsx';

const NEW_WEBHOOK = webhookDraft({ tagPrefix: null, hold: false, expect: null });

/** Dialog for a webhook of one of `providers`, which have none that is on. */
export function EnableWebhookDialog(props: {
  app: string;
  providers: readonly WebhookProvider[];
  onEnabled: () => Promise<void>;
  onClose: () => void;
}) {
  const { app, providers, onEnabled, onClose } = props;
  const [provider, setProvider] = useState<WebhookProvider>(providers[0] ?? 'github');
  const [draft, setDraft] = useState(NEW_WEBHOOK);
  const [issued, setIssued] = useState<IssuedWebhookSecret>();
  const enable = async () => {
    setIssued(await call('POST', 'webhooks', { app, provider, ...settingsOf(draft) }));
    await onEnabled();
  };
  if (issued !== undefined) {
    return <IssuedWebhookDialog provider={provider} issued={issued} onClose={onClose} />;
  }
  return (
    <Dialog title="Enable a webhook" onClose={onClose}>
      <Form
        send="Enable webhook"
        onSend={enable}
        onCancel={onClose}
        obstacle={webhookObstacle(draft)}
      >
        <Choice
          label="Code host"
          value={provider}
          options={providers.map((value) => ({ value, label: PROVIDER_NAMES[value] }))}
          onChoose={setProvider}
        />
        <WebhookFields draft={draft} onChange={setDraft} />
      </Form>
    </Dialog>
  );
}

/** Dialog with the address and the secret of a webhook. */
export function IssuedWebhookDialog(props: {
  provider: WebhookProvider;
  issued: IssuedWebhookSecret;
  onClose: () => void;
}) {
  const { provider, issued, onClose } = props;
  return (
    <Dialog title={`Webhook of ${PROVIDER_NAMES[provider]}`} keeps="the secret" onClose={onClose}>
      <Notice tone="warn">
        Add both to the repository’s webhooks, with the event Releases. The secret is shown this
        once.
      </Notice>
      {!isReachableAddress(issued.url) && (
        <Notice tone="bad">
          A code host on the internet cannot reach this address. The operator sets another one with
          PUBLIC_URL.
        </Notice>
      )}
      <Secret label="Address" text={issued.url} what="address" />
      <Secret label="Secret" text={issued.secret} what="secret" />
      <div class="form-actions">
        <button type="button" class="button primary" data-first onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  );
}
