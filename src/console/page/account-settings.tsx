// Settings of the account: its password, and signing out everywhere.

import { useState } from 'preact/hooks';
import { call } from '../api/call.ts';
import { forgetLoaded } from '../hook/use-load.ts';
import { Card } from '../part/card.tsx';
import { Field } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { Notice } from '../part/notice.tsx';
import { PASSWORD_HINT } from '../session/password-hint.ts';
import { useSession } from '../session/use-session.ts';

/** Settings that belong to the account rather than to an organization. */
export function AccountSettings() {
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
