// Page that sets a new password, opened by the one-time link that the operator made.

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { call } from '../api/call.ts';
import { consolePath, queryText } from '../format/console-path.ts';
import { useLoad } from '../hook/use-load.ts';
import { Field } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { Notice } from '../part/notice.tsx';
import { PASSWORD_HINT } from './password-hint.ts';
import { SignedOutLayout } from './signed-out-layout.tsx';

/** Page of one link, with or without a session. */
export function PasswordResetPage({ token }: { token: string }) {
  const { data, error } = useLoad(`password-reset${queryText({ token })}`);
  if (error !== undefined) {
    return (
      <SignedOutLayout title="New password" lead="This link cannot be used.">
        <Notice tone="bad">
          {error.status === 404
            ? 'It was used or has expired. Ask the operator for a new one.'
            : error.advice}
        </Notice>
        <a class="button plain" href={consolePath.apps}>
          Go to the console
        </a>
      </SignedOutLayout>
    );
  }
  return data === undefined ? null : <NewPassword token={token} email={data.email} />;
}

function NewPassword({ token, email }: { token: string; email: string }) {
  const { route } = useLocation();
  const [password, setPassword] = useState('');
  const set = async () => {
    await call('POST', 'password-reset', { token, password });
    route(consolePath.apps, true);
  };
  return (
    <SignedOutLayout
      title="New password"
      lead={
        <>
          For <strong>{email}</strong>. Every session of the account ends, and you are signed in
          here.
        </>
      }
    >
      <Form send="Set password" onSend={set}>
        <Field
          name="password"
          label="New password"
          type="password"
          complete="new-password"
          value={password}
          onInput={setPassword}
          hint={PASSWORD_HINT}
          isRequired
          isFocused
        />
      </Form>
    </SignedOutLayout>
  );
}
