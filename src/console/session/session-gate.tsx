// Gate in front of the console: shows it, or the page to sign in or set up. The path does not change, so that
// a link leads to its page after signing in.

import { type ComponentChildren, Fragment } from 'preact';
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { SessionState } from '../../contract/console.ts';
import type { SignInWays } from '../../contract/oidc.ts';
import { ApiError, call, whenRefused } from '../api/call.ts';
import { completeSignIn, KNOWS_PASSKEYS, signInByPasskey } from '../api/passkey.ts';
import { Form, useFields } from '../form/form.tsx';
import { FaultNotice, Notice, Skeleton } from '../form/notice.tsx';
import { consolePath } from '../format/console-path.ts';
import { keepText, recallText } from '../hook/storage.ts';
import { hasUnsaved } from '../hook/unsaved.ts';
import { forgetLoaded } from '../hook/use-load.ts';
import { EmailField, PasswordField } from './account-field.tsx';
import { ProviderButton, refusalText } from './provider-sign-in.tsx';
import { SetUpPage } from './set-up-page.tsx';
import { SignedOutLayout } from './signed-out-layout.tsx';
import { SessionContext, type SignedIn } from './use-session.ts';

const STORED = 'sluice-organization';
const REFRESH_MS = 60_000;

/**
 * Renders `children` during a session. If the session ends while there is unsaved input, the reader signs in
 * over the hidden page; otherwise the page is replaced by that for signing in.
 */
export function SessionGate({ children }: { children: ComponentChildren }) {
  const [session, setSession] = useState<SessionState>();
  const [isExpired, setExpired] = useState(false);
  const [fault, setFault] = useState<string>();
  const [chosen, setChosen] = useState(() => recallText(STORED));
  const turn = useRef(0);
  const ways = useRef<SignInWays>();
  const refresh = useCallback(async (known?: SessionState) => {
    turn.current += 1;
    const mine = turn.current;
    try {
      const found = known ?? (await call('GET', 'session'));
      // Ignored, because a later call has newer data.
      if (mine !== turn.current) return;
      ways.current = found.signIn ?? ways.current;
      const isOver = found.state !== 'signedIn' && hasUnsaved();
      setExpired(isOver);
      if (!isOver) setSession(found);
      setFault(undefined);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (mine === turn.current) setFault(error.advice);
    }
  }, []);
  useEffect(() => {
    whenRefused((isSignedOut) => {
      if (isSignedOut) forgetLoaded();
      void refresh(isSignedOut ? signedOut(ways.current) : undefined);
    });
    void refresh();
    // Repeated, because roles may have changed.
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') void refresh();
    }, REFRESH_MS);
    return () => clearInterval(timer);
  }, [refresh]);
  const signedIn = useMemo(
    () =>
      readSignedIn(session, chosen, refresh, (organizationId) => {
        keepText(STORED, organizationId);
        setChosen(organizationId);
      }),
    [session, chosen, refresh],
  );
  if (signedIn !== undefined) {
    const leave = () => {
      setExpired(false);
      setSession(signedOut(ways.current));
    };
    return (
      <SessionContext.Provider value={signedIn}>
        {/* Keyed by account, so that one person's input does not reach another. */}
        <Fragment key={signedIn.account.id}>{children}</Fragment>
        {isExpired && <SignInDialog ways={ways.current} onSignedIn={refresh} onLeave={leave} />}
      </SessionContext.Provider>
    );
  }
  if (fault !== undefined) {
    return (
      <main class="door">
        <FaultNotice fault={fault} onRetry={() => void refresh()} />
      </main>
    );
  }
  if (session === undefined) {
    return (
      <div class="content">
        <Skeleton />
      </div>
    );
  }
  return session.state === 'setup' ? (
    <SetUpPage ways={session.signIn} onSignedIn={refresh} />
  ) : (
    <SignInPage ways={session.signIn} onSignedIn={refresh} />
  );
}

function signedOut(ways: SignInWays | undefined): SessionState {
  return { state: 'signedOut', ...(ways && { signIn: ways }) };
}

function readSignedIn(
  session: SessionState | undefined,
  chosen: string | undefined,
  refresh: SignedIn['refresh'],
  choose: SignedIn['choose'],
): SignedIn | undefined {
  if (session?.state !== 'signedIn' || session.account === undefined) return undefined;
  const { account, memberships = [] } = session;
  const membership =
    memberships.find(({ organization }) => organization.id === chosen) ?? memberships[0];
  const mayCreateOrganizations = session.mayCreateOrganizations === true;
  const { signIn, hasPassword = true, awaitsSetUp = false } = session;
  const about = { signIn, hasPassword, awaitsSetUp, mayCreateOrganizations };
  return { account, memberships, membership, ...about, refresh, choose };
}

type SignInProps = {
  ways: SignInWays | undefined;
  onSignedIn: (session: SessionState) => Promise<void>;
};

/** Page for every path without a session; the path's own page is shown after signing in. */
function SignInPage({ ways, onSignedIn }: SignInProps) {
  const { path, url, query } = useLocation();
  if (ways === undefined) {
    return (
      <SignedOutLayout title="Sign in" lead="Use the email and password of your Sluice account.">
        <SignInForm onSignedIn={onSignedIn} />
        <WithoutAccount />
      </SignedOutLayout>
    );
  }
  const refusal = refusalText(query.refused, ways);
  const to = path === consolePath.signIn ? consolePath.apps : url;
  return (
    <SignedOutLayout
      title="Sign in"
      lead={`Use your account of ${ways.oidc.name}${ways.password ? ', or a password' : ''}.`}
    >
      {refusal !== undefined && <Notice tone="bad">{refusal}</Notice>}
      <ProviderButton ways={ways} to={to} />
      {ways.password ? (
        <>
          <SignInForm onSignedIn={onSignedIn} />
          <WithoutAccount />
        </>
      ) : (
        KNOWS_PASSKEYS && <PasskeySignIn onSignedIn={onSignedIn} />
      )}
    </SignedOutLayout>
  );
}

function WithoutAccount() {
  return (
    <p class="hint">
      No account? Ask an owner of your organization for an invitation. Forgot your password? Ask the
      operator of this service for a link. Lost your passkey? Ask an owner for a link.
    </p>
  );
}

/** Dialog that hides the page until the reader has signed in; `onLeave` discards the input. */
function SignInDialog(props: SignInProps & { onLeave: () => void }) {
  const { ways, onSignedIn, onLeave } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const shown = dialog.current;
    // Shown last, so that it covers other open dialogs.
    shown?.showModal();
    return () => shown?.close();
  }, []);
  useEffect(() => {
    if (ways === undefined) return undefined;
    // The reader may have signed in with the provider in another window.
    const look = async () => {
      const session = await call('GET', 'session');
      if (session.state === 'signedIn') await onSignedIn(session);
    };
    const onFocus = () => void look().catch(() => undefined);
    window.addEventListener('focus', onFocus);
    return () => window.removeEventListener('focus', onFocus);
  }, [ways, onSignedIn]);
  return (
    <dialog
      ref={dialog}
      class="over"
      aria-label="Sign in again"
      onCancel={(event) => event.preventDefault()}
    >
      <div class="dialog-head line apart">
        <h2>Sign in again</h2>
      </div>
      <div class="dialog-body stack loose">
        <p>Your session has ended. What you have filled in is still there.</p>
        {ways !== undefined && (
          <p>
            <ProviderButton ways={ways} to={consolePath.apps} isApart /> in a new window; then come
            back here.
          </p>
        )}
        {ways?.password === false ? (
          <PasskeySignIn onSignedIn={onSignedIn} onCancel={onLeave} />
        ) : (
          <SignInForm onSignedIn={onSignedIn} onCancel={onLeave} />
        )}
      </div>
    </dialog>
  );
}

type SignInFormProps = Pick<SignInProps, 'onSignedIn'> & { onCancel?: () => void };

function SignInForm({ onSignedIn, ...rest }: SignInFormProps) {
  const { values, field } = useFields({ email: '', password: '' });
  const signIn = async () => {
    const answer = await call('POST', 'session', values);
    await onSignedIn(await completeSignIn(answer));
  };
  return (
    <>
      <Form send="Sign in" onSend={signIn} {...rest}>
        <EmailField isFocused {...field('email')} />
        <PasswordField {...field('password')} />
      </Form>
      {KNOWS_PASSKEYS && <PasskeySignIn onSignedIn={onSignedIn} />}
    </>
  );
}

/** Signs in with a passkey alone. */
function PasskeySignIn({ onSignedIn, ...rest }: SignInFormProps) {
  const signIn = async () => onSignedIn(await signInByPasskey());
  return <Form send="Sign in with a passkey" tone="plain" onSend={signIn} {...rest} />;
}
