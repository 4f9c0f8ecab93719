// Settings of the organization: its name, and creating another one.

import { useState } from 'preact/hooks';
import { call } from '../api/call.ts';
import { Card } from '../part/card.tsx';
import { CopyButton } from '../part/copy-button.tsx';
import { Field } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { useMay, useOrganization, useSession } from '../session/use-session.ts';

/** Section for the organization: owners rename it, and accounts that may do so create another one. */
export function OrganizationSettings() {
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
