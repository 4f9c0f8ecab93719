// Passkeys in the browser. Loads the library that calls authenticators only when one is needed.

import type { PasskeyOptions, SessionState } from '../../contract/console.ts';
import { ApiError, call } from './call.ts';

const GIVEN_UP = 'No passkey was used: it was cancelled, or took too long. Try again.';
const IS_THERE = 'This device has a passkey for your account already.';

/** Whether this browser supports passkeys. */
export const KNOWS_PASSKEYS = 'PublicKeyCredential' in window;

/** Has an authenticator make a passkey for the account, and adds it under this name. */
export async function addPasskey(name: string): Promise<void> {
  const { startRegistration } = await import('@simplewebauthn/browser');
  const { options } = await call('POST', 'account/passkeys/options', {});
  const credential = await withAuthenticator(() =>
    startRegistration({ optionsJSON: options as never }),
  );
  await call('POST', 'account/passkeys', { name, credential });
}

/** Signs in with a passkey alone. */
export async function signInByPasskey(): Promise<SessionState> {
  const { options } = await call('POST', 'session/passkey/options', {});
  return show(options);
}

/** Completes a sign-in whose password was right: shows the passkey, if the service asks for one. */
export async function completeSignIn(state: SessionState): Promise<SessionState> {
  return state.state === 'secondFactor' ? show(state.options) : state;
}

async function show(options: PasskeyOptions): Promise<SessionState> {
  const { startAuthentication } = await import('@simplewebauthn/browser');
  const credential = await withAuthenticator(() =>
    startAuthentication({ optionsJSON: options as never }),
  );
  return call('POST', 'session/passkey', { credential });
}

/** Calls an authenticator through the browser; turns its errors into an `ApiError` with a text to show. */
async function withAuthenticator<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new ApiError(0, error.name === 'InvalidStateError' ? IS_THERE : GIVEN_UP);
  }
}
