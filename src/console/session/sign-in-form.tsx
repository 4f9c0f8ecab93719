// Form to sign in with e-mail address and password.

import { useState } from 'preact/hooks';
import type { SessionState } from '../../contract/console.ts';
import { call } from '../api/call.ts';
import { Field } from '../part/field.tsx';
import { Form } from '../part/form.tsx';

/** Form that opens a session. */
export function SignInForm(props: {
  onSignedIn: (session: SessionState) => Promise<void>;
  onCancel?: () => void;
}) {
  const { onSignedIn, onCancel } = props;
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const signIn = async () => {
    await onSignedIn(await call('POST', 'session', { email, password }));
  };
  return (
    <Form send="Sign in" onSend={signIn} {...(onCancel === undefined ? {} : { onCancel })}>
      <Field
        name="email"
        label="Email"
        type="email"
        complete="username"
        value={email}
        onInput={setEmail}
        isRequired
        isFocused
      />
      <Field
        name="password"
        label="Password"
        type="password"
        complete="current-password"
        value={password}
        onInput={setPassword}
        isRequired
      />
    </Form>
  );
}
