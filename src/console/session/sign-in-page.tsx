// Page to sign in with e-mail address and password.

import { useState } from 'preact/hooks';
import type { SessionState } from '../../contract/console.ts';
import { call } from '../api/call.ts';
import { Field } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { SignedOutLayout } from './signed-out-layout.tsx';

/** Page shown at every path without a session; the path's page follows after signing in. */
export function SignInPage({
  onSignedIn,
}: {
  onSignedIn: (session: SessionState) => Promise<void>;
}) {
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const signIn = async () => {
    await onSignedIn(await call('POST', 'session', { email, password }));
  };
  return (
    <SignedOutLayout title="Sign in" lead="Use the email and password of your Sluice account.">
      <Form send="Sign in" onSend={signIn}>
        <Field
          label="Email"
          type="email"
          complete="username"
          value={email}
          onInput={setEmail}
          isRequired
          isFocused
        />
        <Field
          label="Password"
          type="password"
          complete="current-password"
          value={password}
          onInput={setPassword}
          isRequired
        />
      </Form>
      <p class="hint">
        No account? Ask an owner of your organization for an invitation. Forgot your password? Ask
        the operator of this service for a link.
      </p>
    </SignedOutLayout>
  );
}
