// Webhooks by app: enabled ones, their last deliveries, and the owners' actions.

import { useState } from 'preact/hooks';
import { PROVIDER_NAMES, WEBHOOK_PROVIDERS } from '../../contract/choice.ts';
import type { AppWebhook, EnabledWebhooks } from '../../contract/console.ts';
import type { WebhookDelivery } from '../../contract/resource.ts';
import { call } from '../api/call.ts';
import { ConfirmDialog, type DialogEnd, FormDialog, useDialog } from '../form/dialog.tsx';
import { Choice } from '../form/field.tsx';
import { LoadedView } from '../form/notice.tsx';
import { SmallButton } from '../form/small-button.tsx';
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

/** Section with a card per app with an enabled webhook, and a choice of another app to enable one for. */
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
              Releases come from the console and from keys only.
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
  const [dialog, show] = useDialog(onEnabled);
  const enable = (app: string) =>
    show((end) => <EnableWebhookDialog app={app} providers={WEBHOOK_PROVIDERS} {...end} />);
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
                  onChoose={(ref) => ref !== '' && enable(ref)}
                />
              </div>
            )}
            {dialog}
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
  const [dialog, show] = useDialog(onChanged);
  const on = app.webhooks.filter(({ enabled }) => enabled);
  const taken = on.map(({ provider }) => provider);
  const free = WEBHOOK_PROVIDERS.filter((provider) => !taken.includes(provider));
  const enable = () =>
    show((end) => <EnableWebhookDialog app={app.ref} providers={free} {...end} />);
  return (
    <Card
      title={app.name}
      isFlush
      aside={
        mayChange && free.length > 0 && <SmallButton onClick={enable}>Enable another…</SmallButton>
      }
    >
      {dialog}
      {on.map((webhook) => (
        <WebhookRow key={webhook.provider} app={app.ref} webhook={webhook} onChanged={onChanged} />
      ))}
      {app.deliveries.length === 0 ? (
        <p class="hint padded">
          Nothing was delivered yet. GitHub sends a ping as soon as the webhook is saved there.
        </p>
      ) : (
        <DataTable caption="Last deliveries" columns={COLUMNS} rows={app.deliveries} />
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

/** Row of a webhook; `onChanged` loads it again. */
function WebhookRow(props: { app: string; webhook: AppWebhook; onChanged: () => Promise<void> }) {
  const { app, webhook, onChanged } = props;
  const { provider, url, createdAt, repository, otherRepository } = webhook;
  const mayChange = useMay('owner');
  const [dialog, show] = useDialog(onChanged);
  const host = PROVIDER_NAMES[provider];
  const askToRenew = () =>
    show((end) => (
      <ConfirmDialog
        title={`New secret for ${host}`}
        verb="Make new secret"
        onSend={() => call('POST', 'webhooks', { app, provider })}
        then={(issued) => (
          <IssuedWebhookDialog provider={provider} issued={issued} onClose={end.onClose} />
        )}
        {...end}
      >
        <p>Deliveries that are signed with the present secret are refused from then on.</p>
      </ConfirmDialog>
    ));
  const askToDisable = () =>
    show((end) => (
      <ConfirmDialog
        title={`Disable the webhook of ${host}`}
        verb="Disable webhook"
        onSend={() => call('POST', 'webhooks/disable', { app, provider })}
        {...end}
      >
        <p>Deliveries are refused from now on. To enable it again makes a new secret.</p>
      </ConfirmDialog>
    ));
  const edit = () => show((end) => <SettingsDialog app={app} webhook={webhook} {...end} />);
  const button = (label: string, onClick: () => void) => (
    <SmallButton of={host} onClick={onClick}>
      {label}
    </SmallButton>
  );
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
        <p class="notice warn panel small">
          Deliveries of <span class="code">{otherRepository.name}</span> are ignored, last{' '}
          <Time at={otherRepository.at} />: the webhook takes <span class="code">{repository}</span>
          . Make a new secret to take another repository, and give it to that one alone.
        </p>
      )}
      {mayChange && (
        <div class="form-actions row">
          {button('Settings…', edit)}
          {button('New secret…', askToRenew)}
          {button('Disable…', askToDisable)}
        </div>
      )}
      {dialog}
    </div>
  );
}

function SettingsDialog(props: DialogEnd & { app: string; webhook: AppWebhook }) {
  const { app, webhook, ...end } = props;
  const { provider } = webhook;
  const [draft, setDraft] = useState(webhookDraft(webhook));
  return (
    <FormDialog
      title={`Releases from ${PROVIDER_NAMES[provider]}`}
      verb="Save"
      obstacle={webhookObstacle(draft)}
      onSend={() => call('PATCH', 'webhooks', { app, provider, ...settingsOf(draft) })}
      {...end}
    >
      <WebhookFields draft={draft} onChange={setDraft} />
    </FormDialog>
  );
}
