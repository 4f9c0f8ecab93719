// Signing in with email and password.

import { useState } from 'preact/hooks';
import { call } from '../api/call.ts';
import type { Session } from '../api/resource.ts';
import { Field } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { Door } from './door.tsx';

/** Shown at any address while nobody is signed in; the address is where one is afterwards. */
export function SignInPage({ onSignedIn }: { onSignedIn: (session: Session) => Promise<void> }) {
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const signIn = async () => {
    await onSignedIn(await call<Session>('POST', 'session', { email, password }));
  };
  return (
    <Door title="Sign in" lead="Use the email and password of your Sluice account.">
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
      <p class="hint">No account? Ask an owner of your organization for an invitation.</p>
    </Door>
  );
}
