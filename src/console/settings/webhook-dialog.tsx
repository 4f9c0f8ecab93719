// Dialog that enables a webhook and shows its address and secret once, and the fields of its settings.

import { useState } from 'preact/hooks';
import { isReachableAddress } from '../../contract/address.ts';
import { PROVIDER_NAMES, type WebhookProvider } from '../../contract/choice.ts';
import type { IssuedWebhookSecret } from '../../contract/console.ts';
import { call } from '../api/call.ts';
import { ChipsInput } from '../form/chips-input.tsx';
import { Secret } from '../form/copy-button.tsx';
import { Dialog, type DialogEnd, FormDialog } from '../form/dialog.tsx';
import { Choice, Field, optionsOf } from '../form/field.tsx';
import { Notice } from '../form/notice.tsx';
import { settingsOf, type WebhookDraft, webhookDraft, webhookObstacle } from '../format/webhook.ts';

const NEW_WEBHOOK = webhookDraft({ tagPrefix: null, hold: false, expect: null });

/** Dialog that enables a webhook of one of `providers`, which have none yet. */
export function EnableWebhookDialog(
  props: DialogEnd & { app: string; providers: readonly WebhookProvider[] },
) {
  const { app, providers, ...end } = props;
  const [provider, setProvider] = useState<WebhookProvider>(providers[0] ?? 'github');
  const [draft, setDraft] = useState(NEW_WEBHOOK);
  return (
    <FormDialog
      title="Enable a webhook"
      verb="Enable webhook"
      obstacle={webhookObstacle(draft)}
      onSend={() => call('POST', 'webhooks', { app, provider, ...settingsOf(draft) })}
      then={(issued) => (
        <IssuedWebhookDialog provider={provider} issued={issued} onClose={end.onClose} />
      )}
      {...end}
    >
      <Choice
        label="Code host"
        value={provider}
        options={providers.map((value) => ({ value, label: PROVIDER_NAMES[value] }))}
        onChoose={setProvider}
      />
      <WebhookFields draft={draft} onChange={setDraft} />
    </FormDialog>
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
      <div class="form-actions row">
        <button type="button" class="button primary" data-first onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  );
}

const LANDINGS = optionsOf({
  offered: 'Offer them at once',
  'by-hand': 'Hold them for a person',
  expecting: 'Hold them for their files',
});

/** Suggested targets; the reader may type any other. */
const TARGETS = [
  ...['darwin', 'darwin/aarch64', 'darwin/x86_64', 'linux', 'linux/aarch64', 'linux/x86_64'],
  ...['windows', 'windows/aarch64', 'windows/x86_64'],
];

/** Fields of a webhook's settings. */
export function WebhookFields(props: {
  draft: WebhookDraft;
  onChange: (draft: WebhookDraft) => void;
}) {
  const { draft, onChange } = props;
  return (
    <>
      <Field
        name="tagPrefix"
        label="Prefix of the tags"
        value={draft.tagPrefix}
        onInput={(tagPrefix) => onChange({ ...draft, tagPrefix })}
        placeholder="none"
        maxLength={100}
        hint="Where a repository has several apps: desk- for tags such as desk-1.4.0."
        isCode
      />
      <Choice
        label="New releases"
        value={draft.landing}
        options={LANDINGS}
        onChoose={(landing) => onChange({ ...draft, landing })}
        hint="A held release takes files until it is first published: by a person, or once all are there."
      />
      {draft.landing === 'expecting' && (
        <fieldset class="wide">
          <legend>Files for</legend>
          <ChipsInput
            label="Add a platform"
            values={draft.expect}
            options={TARGETS}
            placeholder="darwin/aarch64"
            onChange={(expect) => onChange({ ...draft, expect })}
          />
        </fieldset>
      )}
    </>
  );
}
