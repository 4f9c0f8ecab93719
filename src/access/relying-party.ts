// The relying party of passkeys: the host that they are made for, and the origin of the pages that use them.

import { type Failure, fail } from '../contract/failure.ts';

export type RelyingParty = {
  /** Host of the console, which every passkey is bound to. */
  readonly id: string;
  /** Origin of the console's pages. */
  readonly origin: string;
};

/** IP address as `URL` writes it: IPv6 in brackets, IPv4 with four numbers. */
const IP_ADDRESS = /^(?:\[.*\]|\d+(?:\.\d+){3})$/;

/**
 * Returns the relying party of the console at this base URL. Browsers make passkeys only for a host name that
 * is reached by https, or for `localhost`; the refusal says what is missing.
 */
export function relyingPartyOf(consoleUrl: string | undefined): RelyingParty | Failure {
  if (consoleUrl === undefined) return fail('passkeysUnavailable');
  const { hostname, protocol, origin } = new URL(consoleUrl);
  if (IP_ADDRESS.test(hostname)) {
    return fail('passkeysUnavailable', 'Passkeys need a console with a name, not an IP address');
  }
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost');
  if (protocol !== 'https:' && !isLocal) {
    return fail('passkeysUnavailable', 'Passkeys need a console that is reached by https');
  }
  return { id: hostname, origin };
}
