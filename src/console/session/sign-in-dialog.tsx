// Dialog to sign in again over a page with something filled in, which is still there afterwards.

import { useEffect, useRef } from 'preact/hooks';
import type { SessionState } from '../../contract/console.ts';
import { SignInForm } from './sign-in-form.tsx';

/** Dialog that hides the page until somebody has signed in; `onLeave` gives up what was filled in. */
export function SignInDialog(props: {
  onSignedIn: (session: SessionState) => Promise<void>;
  onLeave: () => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const shown = dialog.current;
    // Lies over the dialog that is open, because it is shown after it.
    shown?.showModal();
    return () => shown?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      class="over"
      aria-label="Sign in again"
      onCancel={(event) => event.preventDefault()}
    >
      <div class="dialog-head">
        <h2>Sign in again</h2>
      </div>
      <div class="dialog-body">
        <p>Your session has ended. What you have filled in is still there.</p>
        <SignInForm onSignedIn={props.onSignedIn} onCancel={props.onLeave} />
      </div>
    </dialog>
  );
}
