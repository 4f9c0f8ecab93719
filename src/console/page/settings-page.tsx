// Settings of the organization and the account, with a path per section; the organization's name and the
// account are in this file.

import { useState } from 'preact/hooks';
import { call } from '../api/call.ts';
import { consolePath } from '../format/console-path.ts';
import { forgetLoaded } from '../hook/use-load.ts';
import { Card } from '../part/card.tsx';
import { CopyButton } from '../part/copy-button.tsx';
import { Field } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { Notice } from '../part/notice.tsx';
import { PageHead, useTitle } from '../part/page-head.tsx';
import { PASSWORD_HINT } from '../session/signed-out-layout.tsx';
import { useMay, useOrganization, useSession } from '../session/use-session.ts';
import { KeySettings } from './key-settings.tsx';
import { MemberSettings } from './member-settings.tsx';
import { NotFoundPage } from './not-found-page.tsx';
import { WebhookSettings } from './webhook-settings.tsx';

const SECTIONS = [
  { name: 'keys', label: 'Keys', View: KeySettings },
  { name: 'webhooks', label: 'Webhooks', View: WebhookSettings },
  { name: 'members', label: 'Members', View: MemberSettings },
  { name: 'organization', label: 'Organization', View: OrganizationSettings },
  { name: 'account', label: 'Your account', View: AccountSettings },
] as const;

/** Settings page; `params.section` is the section in the path, by default the keys. */
export function SettingsPage({ params }: { params: { readonly section?: string } }) {
  const section = SECTIONS.find(({ name }) => name === (params.section ?? 'keys'));
  useTitle(section?.label, 'Settings');
  if (section === undefined) return <NotFoundPage />;
  const { View } = section;
  return (
    <>
      <PageHead title="Settings" />
      <nav class="tabs" aria-label="Settings">
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
      <View />
    </>
  );
}

/** Section for the organization: owners rename it; accounts with the right create another one. */
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
      {mayCreateOrganizations && <NewOrganization />}
    </>
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

/** Settings of the account, which apply in every organization. */
function AccountSettings() {
  const { account, refresh } = useSession();
  const signOutEverywhere = async () => {
    await call('DELETE', 'sessions');
    forgetLoaded();
    await refresh();
  };
  return (
    <>
      <PasswordCard email={account.email} />
      <Card title="Sessions">
        <p class="hint">Ends every session of yours, on every device, this one included.</p>
        <Form send="Sign out everywhere" tone="plain" onSend={signOutEverywhere} />
      </Card>
    </>
  );
}

function PasswordCard({ email }: { email: string }) {
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const [isChanged, setChanged] = useState(false);
  const change = async () => {
    setChanged(false);
    await call('POST', 'password', { current, next });
    setCurrent('');
    setNext('');
    setChanged(true);
  };
  return (
    <Card title="Password">
      <p class="hint">Signed in as {email}. Your other sessions end when it changes.</p>
      <Form send="Change password" onSend={change}>
        <Field
          name="current"
          label="Current password"
          type="password"
          complete="current-password"
          value={current}
          onInput={setCurrent}
          isRequired
        />
        <Field
          name="next"
          label="New password"
          type="password"
          complete="new-password"
          value={next}
          onInput={setNext}
          hint={PASSWORD_HINT}
          isRequired
        />
        {isChanged && <Notice tone="good">Your password was changed.</Notice>}
      </Form>
    </Card>
  );
}
