// Settings of the organization and the account, with a path per section; the section for the organization is
// in this file.

import { useState } from 'preact/hooks';
import { call } from '../api/call.ts';
import { CopyButton } from '../form/copy-button.tsx';
import { Field } from '../form/field.tsx';
import { Form } from '../form/form.tsx';
import { consolePath } from '../format/console-path.ts';
import { NotFoundPage } from '../home/not-found-page.tsx';
import { Card } from '../part/card.tsx';
import { PageHead, useTitle } from '../part/page-head.tsx';
import { useMay, useOrganization, useSession } from '../session/use-session.ts';
import { AccountSettings } from './account-settings.tsx';
import { DdiSettings } from './ddi-settings.tsx';
import { KeySettings } from './key-settings.tsx';
import { MemberSettings } from './member-settings.tsx';
import { NotificationSettings } from './notification-settings.tsx';
import { WebhookSettings } from './webhook-settings.tsx';

const SECTIONS = [
  { name: 'keys', label: 'Keys', View: KeySettings },
  { name: 'devices', label: 'Device credentials', View: DdiSettings },
  { name: 'webhooks', label: 'Webhooks', View: WebhookSettings },
  { name: 'notifications', label: 'Notifications', View: NotificationSettings },
  { name: 'members', label: 'Members', View: MemberSettings },
  { name: 'organization', label: 'Organization', View: OrganizationSettings },
  { name: 'account', label: 'Your account', View: AccountSettings },
] as const;

/** Settings page; `params.section` is the section in the path (default: `keys`). */
export function SettingsPage({ params }: { params: { readonly section?: string } }) {
  const section = SECTIONS.find(({ name }) => name === (params.section ?? 'keys'));
  useTitle(section?.label, 'Settings');
  if (section === undefined) return <NotFoundPage />;
  const { View } = section;
  return (
    <>
      <PageHead title="Settings" />
      <div class="settings">
        <nav class="settings-nav stack tight" aria-label="Settings">
          {SECTIONS.map(({ name, label }) => (
            <a
              key={name}
              href={consolePath.settings(name)}
              aria-current={name === section.name ? 'page' : undefined}
            >
              {label}
            </a>
          ))}
        </nav>
        <div>
          <View />
        </div>
      </div>
    </>
  );
}

/** Section for the organization: owners rename it; accounts with the right can create another one. */
function OrganizationSettings() {
  const organization = useOrganization();
  const { refresh, mayCreateOrganizations } = useSession();
  const mayRename = useMay('owner');
  const [name, setName] = useState(organization.name);
  const rename = async () => {
    await call('PATCH', 'organizations', { org: organization.id, name });
    await refresh();
  };
  return (
    <>
      <Card title="Organization">
        <p>
          <span class="muted">Id</span> <code>{organization.id}</code>{' '}
          <CopyButton text={organization.id} what="id" />
        </p>
        {mayRename ? (
          <Form
            send="Rename"
            onSend={rename}
            obstacle={name === organization.name ? 'Nothing was changed' : undefined}
          >
            <Field name="name" label="Name" value={name} onInput={setName} isRequired />
          </Form>
        ) : (
          <p>
            <bdi>{organization.name}</bdi>
          </p>
        )}
      </Card>
      <SecondFactorDemand />
      {mayCreateOrganizations && <NewOrganization />}
    </>
  );
}

/** Card for the demand of a second factor; owners can change it. */
function SecondFactorDemand() {
  const { id: org, requireSecondFactor } = useOrganization();
  const { refresh } = useSession();
  const mayChange = useMay('owner');
  const isOn = requireSecondFactor === true;
  const change = async () => {
    await call('PATCH', 'organizations', { org, requireSecondFactor: !isOn });
    await refresh();
  };
  return (
    <Card title="Second factor">
      <p>
        {isOn
          ? 'Members must sign in with a passkey, or by single sign-on.'
          : 'Members may sign in with a password alone.'}
      </p>
      {mayChange && (
        <>
          <p class="hint">
            Sessions that a password alone opened lose their rights here at once. Keys go on. Sign
            in with a passkey yourself before you ask for it.
          </p>
          <Form
            send={isOn ? 'Allow a password alone' : 'Ask for a second factor'}
            tone="plain"
            onSend={change}
          />
        </>
      )}
    </Card>
  );
}

function NewOrganization() {
  const { refresh, choose } = useSession();
  const [name, setName] = useState('');
  const create = async () => {
    const created = await call('POST', 'organizations', { name });
    await refresh();
    choose(created.id);
  };
  return (
    <Card title="Another organization">
      <p class="hint">Apps, keys and members of its own. You will own it.</p>
      <Form send="Create organization" tone="plain" onSend={create}>
        <Field name="name" label="Name of the new one" value={name} onInput={setName} isRequired />
      </Form>
    </Card>
  );
}
