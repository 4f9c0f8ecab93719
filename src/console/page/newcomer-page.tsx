// Page for an account without an organization: creates one, where accounts may do so.

import { useState } from 'preact/hooks';
import { call } from '../api/call.ts';
import { Card } from '../part/card.tsx';
import { Field } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { useTitle } from '../part/page-head.tsx';
import { useSession } from '../session/use-session.ts';

/** Form for a new organization, which the account will own; else who can help. */
export function NewcomerPage() {
  useTitle('Welcome');
  const { refresh, mayCreateOrganizations } = useSession();
  const [name, setName] = useState('');
  const create = async () => {
    await call('POST', 'organizations', { name });
    await refresh();
  };
  if (!mayCreateOrganizations) {
    return (
      <Card title="You are in no organization">
        <p class="lead">Ask an owner for an invitation, or the operator of this service.</p>
      </Card>
    );
  }
  return (
    <Card title="You are in no organization yet">
      <p class="lead">Make one for your apps, or ask for an invitation to an existing one.</p>
      <Form send="Create organization" onSend={create}>
        <Field name="name" label="Name" value={name} onInput={setName} isRequired isFocused />
      </Form>
    </Card>
  );
}
