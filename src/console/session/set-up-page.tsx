// Page of a service that is not set up: the holder of the admin token creates the first account and its
// organization, or signs in with the provider first.

import { useLocation } from 'preact-iso';
import type { SessionState } from '../../contract/console.ts';
import type { SignInWays } from '../../contract/oidc.ts';
import { ApiError, call } from '../api/call.ts';
import { Form, useFields } from '../form/form.tsx';
import { Notice } from '../form/notice.tsx';
import { consolePath } from '../format/console-path.ts';
import {
  EmailField,
  OrganizationField,
  PasswordField,
  PersonField,
  TokenField,
} from './account-field.tsx';
import { ProviderButton, refusalText } from './provider-sign-in.tsx';
import { SignedOutLayout } from './signed-out-layout.tsx';

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

/** Turns a 401 into a refusal of the field that has the credential. */
async function atField<Answer>(name: string, asked: Promise<Answer>): Promise<Answer> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    throw new ApiError(error.status, `${name}: ${error.message}`);
  }
}

function FirstAccount({ onSignedIn }: { onSignedIn: (session: SessionState) => Promise<void> }) {
  const { values, field } = useFields(EMPTY);
  const setUp = async () => {
    const token = values.token.trim();
    await onSignedIn(await atField('token', call('POST', 'setup', { ...values, token })));
  };
  return (
    <Form send="Create account" onSend={setUp}>
      <TokenField {...field('token')} />
      <OrganizationField {...field('organization')} />
      <PersonField {...field('name')} />
      <EmailField {...field('email')} />
      <PasswordField isNew {...field('password')} />
    </Form>
  );
}
