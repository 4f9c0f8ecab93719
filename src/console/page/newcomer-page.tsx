// Page for an account without an organization: creates one.

import { useState } from 'preact/hooks';
import { call } from '../api/call.ts';
import { useTitle } from '../hook/use-title.ts';
import { Card } from '../part/card.tsx';
import { Field } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { useSession } from '../session/use-session.ts';

/** Form for a new organization, which the account will own. */
export function NewcomerPage() {
  useTitle('Welcome');
  const { refresh } = useSession();
  const [name, setName] = useState('');
  const create = async () => {
    await call('POST', 'organizations', { name });
    await refresh();
  };
  return (
    <Card title="You are in no organization yet">
      <p class="lead">Make one for your apps, or ask for an invitation to an existing one.</p>
      <Form send="Create organization" onSend={create}>
        <Field label="Name" value={name} onInput={setName} isRequired isFocused />
      </Form>
    </Card>
  );
}
