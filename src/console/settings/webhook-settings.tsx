// Webhooks by app: enabled ones, their last deliveries, and the owners' actions.

import { useState } from 'preact/hooks';
import type { AppWebhook, EnabledWebhooks, IssuedWebhookSecret } from '../../contract/console.ts';
import type { WebhookDelivery } from '../../contract/resource.ts';
import {
  PROVIDER_NAMES,
  WEBHOOK_PROVIDERS,
  type WebhookProvider,
} from '../../contract/webhook-provider.ts';
import { call } from '../api/call.ts';
import { ConfirmDialog, Dialog } from '../form/dialog.tsx';
import { Choice } from '../form/field.tsx';
import { Form } from '../form/form.tsx';
import { LoadedView } from '../form/notice.tsx';
import { queryText } from '../format/console-path.ts';
import { settingsOf, webhookDraft, webhookObstacle, webhookText } from '../format/webhook.ts';
import { useLoad } from '../hook/use-load.ts';
import { Badge, type Tone } from '../part/badge.tsx';
import { Card, Empty } from '../part/card.tsx';
import { type Column, DataTable } from '../part/data-table.tsx';
import { Name, None } from '../part/name.tsx';
import { Time } from '../part/time.tsx';
import { useMay, useOrganization } from '../session/use-session.ts';
import { EnableWebhookDialog, IssuedWebhookDialog, WebhookFields } from './webhook-dialog.tsx';

const REFRESH_MS = 10_000;

/** Section with a card per app with an enabled webhook, and a choice of the app that gets its first one. */
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

/** Choice of an app without a webhook; opens the dialog that enables one. */
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

type AppWebhooks = EnabledWebhooks['apps'][number];

/** Card of an app's webhooks: owners enable and change them, all members see deliveries. */
function WebhookCard(props: { app: AppWebhooks; onChanged: () => Promise<void> }) {
  const { app, onChanged } = props;
  const mayChange = useMay('owner');
  const [isEnabling, setEnabling] = useState(false);
  // Kept from when the dialog opened, because a webhook that was just enabled still shows its secret.
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
    render: ({ event, action }) => (
      <span class="event">
        <Name text={[event, action].filter(Boolean).join(' ')} />
      </span>
    ),
  },
  {
    label: 'Outcome',
    render: ({ outcome }) => <Badge tone={OUTCOME_TONES[outcome]}>{outcome}</Badge>,
  },
  {
    label: 'Version',
    render: ({ version }) => (version === null ? <None /> : <span class="code">{version}</span>),
  },
  { label: 'Why', render: ({ reason }) => <Name text={reason ?? ''} /> },
];

type Question = 'settings' | 'secret' | 'disable';

/** Row of a webhook; `onChanged` loads it again. */
function WebhookRow(props: { app: string; webhook: AppWebhook; onChanged: () => Promise<void> }) {
  const { app, webhook, onChanged } = props;
  const { provider, url, createdAt, repository, otherRepository } = webhook;
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
    <div class="stack padded">
      <p>
        <Badge tone="good">{host}</Badge> <span class="code">{url}</span>{' '}
        <span class="muted">
          since <Time at={createdAt} />
        </span>
      </p>
      <p class="hint">{webhookText(webhook)}</p>
      {otherRepository !== null && (
        <p class="notice warn panel">
          Deliveries of <span class="code">{otherRepository.name}</span> are ignored, last{' '}
          <Time at={otherRepository.at} />: the webhook takes <span class="code">{repository}</span>
          . Make a new secret to take another repository, and give it to that one alone.
        </p>
      )}
      {mayChange && (
        <div class="form-actions row">
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
          verb="Make new secret"
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
