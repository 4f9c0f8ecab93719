// Gate in front of the console: shows it, or the page to sign in or set up. The path stays, so that a link
// leads to its page after signing in.

import { type ComponentChildren, Fragment } from 'preact';
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { SessionState } from '../../contract/console.ts';
import { ApiError, call, whenRefused } from '../api/call.ts';
import { hasUnsaved } from '../hook/unsaved.ts';
import { forgetLoaded } from '../hook/use-load.ts';
import { Notice } from '../part/notice.tsx';
import { SetupPage } from './setup-page.tsx';
import { SignInDialog } from './sign-in-dialog.tsx';
import { SignInPage } from './sign-in-page.tsx';
import { SessionContext, type SignedIn } from './use-session.ts';

const STORED = 'sluice-organization';
const REFRESH_MS = 60_000;
const SIGNED_OUT: SessionState = { state: 'signedOut' };

/**
 * Renders `children` once there is a session. When it ends while something is filled in, one signs in over
 * the page, which nobody sees meanwhile; else the page is gone with the session.
 */
export function SessionGate({ children }: { children: ComponentChildren }) {
  const [session, setSession] = useState<SessionState>();
  const [isExpired, setExpired] = useState(false);
  const [fault, setFault] = useState<string>();
  const [chosen, setChosen] = useState(() => localStorage.getItem(STORED) ?? undefined);
  const turn = useRef(0);
  const refresh = useCallback(async (known?: SessionState) => {
    turn.current += 1;
    const mine = turn.current;
    try {
      const found = known ?? (await call('GET', 'session'));
      // What is known since is newer than this answer.
      if (mine !== turn.current) return;
      const isOver = found.state !== 'signedIn' && hasUnsaved();
      setExpired(isOver);
      if (!isOver) setSession(found);
      setFault(undefined);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setFault(error.advice);
    }
  }, []);
  useEffect(() => {
    whenRefused((isSignedOut) => {
      if (isSignedOut) forgetLoaded();
      void refresh(isSignedOut ? SIGNED_OUT : undefined);
    });
    void refresh();
    // Roles may have changed meanwhile.
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') void refresh();
    }, REFRESH_MS);
    return () => clearInterval(timer);
  }, [refresh]);
  const signedIn = useMemo(
    () =>
      readSignedIn(session, chosen, refresh, (organizationId) => {
        localStorage.setItem(STORED, organizationId);
        setChosen(organizationId);
      }),
    [session, chosen, refresh],
  );
  if (signedIn !== undefined) {
    const leave = () => {
      setExpired(false);
      setSession(SIGNED_OUT);
    };
    return (
      <SessionContext.Provider value={signedIn}>
        {/* What one person has filled in is not another's. */}
        <Fragment key={signedIn.account.id}>{children}</Fragment>
        {isExpired && <SignInDialog onSignedIn={refresh} onLeave={leave} />}
      </SessionContext.Provider>
    );
  }
  if (fault !== undefined) return <Unreachable fault={fault} onRetry={() => void refresh()} />;
  if (session === undefined) return null;
  return session.state === 'setup' ? (
    <SetupPage onSignedIn={refresh} />
  ) : (
    <SignInPage onSignedIn={refresh} />
  );
}

function Unreachable({ fault, onRetry }: { fault: string; onRetry: () => void }) {
  return (
    <main class="door">
      <Notice tone="bad">
        {fault}{' '}
        <button type="button" class="link" onClick={onRetry}>
          Try again
        </button>
      </Notice>
    </main>
  );
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
  return { account, memberships, membership, mayCreateOrganizations, refresh, choose };
}
