// Page to sign in with e-mail address and password.

import type { SessionState } from '../../contract/console.ts';
import { SignInForm } from './sign-in-form.tsx';
import { SignedOutLayout } from './signed-out-layout.tsx';

/** Page shown at every path without a session; the path's page follows after signing in. */
export function SignInPage(props: { onSignedIn: (session: SessionState) => Promise<void> }) {
  return (
    <SignedOutLayout title="Sign in" lead="Use the email and password of your Sluice account.">
      <SignInForm onSignedIn={props.onSignedIn} />
      <p class="hint">
        No account? Ask an owner of your organization for an invitation. Forgot your password? Ask
        the operator of this service for a link.
      </p>
    </SignedOutLayout>
  );
}
