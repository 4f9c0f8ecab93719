// Page of a service that nobody has set up: the holder of the admin token creates the first account and its
// organization, or signs in with the provider first.

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { SessionState } from '../../contract/console.ts';
import type { SignInWays } from '../../contract/oidc.ts';
import { ApiError, call } from '../api/call.ts';
import { Field } from '../form/field.tsx';
import { Form } from '../form/form.tsx';
import { Notice } from '../form/notice.tsx';
import { consolePath } from '../format/console-path.ts';
import { ProviderButton, refusalText } from './provider-sign-in.tsx';
import { PASSWORD_HINT, SignedOutLayout } from './signed-out-layout.tsx';

const EMPTY = { token: '', organization: '', name: '', email: '', password: '' };

/** Page for every path until the service is set up. */
export function SetUpPage(props: {
  ways: SignInWays | undefined;
  onSignedIn: (session: SessionState) => Promise<void>;
}) {
  const { ways, onSignedIn } = props;
  if (ways === undefined) {
    return (
      <SignedOutLayout
        title="Set up Sluice"
        lead="Create the first account. It owns the first organization."
      >
        <FirstAccount onSignedIn={onSignedIn} />
      </SignedOutLayout>
    );
  }
  return (
    <SignedOutLayout
      title="Set up Sluice"
      lead={`Sign in with ${ways.oidc.name}, then make the first organization with the admin token.`}
    >
      <Refusal ways={ways} />
      <ProviderButton ways={ways} to={consolePath.apps} />
      <p class="lead">
        Or create the first account here, with a password. It owns the first organization.
      </p>
      <FirstAccount onSignedIn={onSignedIn} />
    </SignedOutLayout>
  );
}

function Refusal({ ways }: { ways: SignInWays }) {
  const { query } = useLocation();
  const text = refusalText(query.refused, ways);
  return text === undefined ? null : <Notice tone="bad">{text}</Notice>;
}

/** Field for the admin token. */
export function TokenField(props: { value: string; onInput: (value: string) => void }) {
  return (
    <Field
      name="token"
      label="Admin token"
      type="password"
      hint="The setting ADMIN_TOKEN; an embedded service has it in the file DATA_DIR/admin-token."
      isRequired
      isFocused
      {...props}
    />
  );
}

/** Field for the name of the first organization. */
export function OrganizationField(props: { value: string; onInput: (value: string) => void }) {
  return (
    <Field
      name="organization"
      label="Organization"
      hint="Whose apps these are, such as your company."
      isRequired
      {...props}
    />
  );
}

/** Puts a refusal of who asks (401) at the field that decides about it. */
async function atField<Answer>(name: string, asked: Promise<Answer>): Promise<Answer> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    throw new ApiError(error.status, `${name}: ${error.message}`);
  }
}

function FirstAccount({ onSignedIn }: { onSignedIn: (session: SessionState) => Promise<void> }) {
  const [fields, setFields] = useState(EMPTY);
  const set = (name: keyof typeof EMPTY) => (value: string) =>
    setFields((before) => ({ ...before, [name]: value }));
  const setUp = async () => {
    const token = fields.token.trim();
    await onSignedIn(await atField('token', call('POST', 'setup', { ...fields, token })));
  };
  return (
    <Form send="Create account" onSend={setUp}>
      <TokenField value={fields.token} onInput={set('token')} />
      <OrganizationField value={fields.organization} onInput={set('organization')} />
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
  );
}
