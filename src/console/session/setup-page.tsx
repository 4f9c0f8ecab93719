// First run: the holder of the admin token creates the first account and its organization.

import { useState } from 'preact/hooks';
import type { SessionState } from '../../contract/console.ts';
import { call } from '../api/call.ts';
import { Field } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { PASSWORD_HINT } from './password-hint.ts';
import { SignedOutLayout } from './signed-out-layout.tsx';

const EMPTY_SETUP = { token: '', organization: '', name: '', email: '', password: '' };

/** Page shown at every path until there is an account. */
export function SetupPage({
  onSignedIn,
}: {
  onSignedIn: (session: SessionState) => Promise<void>;
}) {
  const [fields, setFields] = useState(EMPTY_SETUP);
  const set = (name: keyof typeof EMPTY_SETUP) => (value: string) =>
    setFields((before) => ({ ...before, [name]: value }));
  const setUp = async () => {
    await onSignedIn(await call('POST', 'setup', fields));
  };
  return (
    <SignedOutLayout
      title="Set up Sluice"
      lead="This service has no account yet. Make yours: you will own the first organization."
    >
      <Form send="Create account" onSend={setUp}>
        <Field
          name="token"
          label="Admin token"
          type="password"
          value={fields.token}
          onInput={set('token')}
          hint="The ADMIN_TOKEN setting; an embedded service keeps it in its data directory."
          isRequired
          isFocused
        />
        <Field
          name="organization"
          label="Organization"
          value={fields.organization}
          onInput={set('organization')}
          hint="Whose apps these are, such as your company."
          isRequired
        />
        <Field
          name="name"
          label="Your name"
          complete="name"
          value={fields.name}
          onInput={set('name')}
          isRequired
        />
        <Field
          name="email"
          label="Email"
          type="email"
          complete="username"
          value={fields.email}
          onInput={set('email')}
          isRequired
        />
        <Field
          name="password"
          label="Password"
          type="password"
          complete="new-password"
          value={fields.password}
          onInput={set('password')}
          hint={PASSWORD_HINT}
          isRequired
        />
      </Form>
    </SignedOutLayout>
  );
}
