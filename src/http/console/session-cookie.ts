// Session cookie. Scripts cannot read it, and pages of other sites cannot make a browser send it.

import { LIMIT } from '../../contract/limit.ts';
import type { Exchange } from '../exchange.ts';

const NAME = 'sluice_session';

/** Returns the token in the cookie, valid or not; undefined without the cookie. */
export function sessionCookie({ headers }: Pick<Exchange, 'headers'>): string | undefined {
  for (const pair of (headers.get('cookie') ?? '').split(';')) {
    const at = pair.indexOf('=');
    if (at !== -1 && pair.slice(0, at).trim() === NAME) return pair.slice(at + 1).trim();
  }
  return undefined;
}

/** Returns the header that sets the cookie to a token, or removes it when the token is undefined. */
export function setSessionCookie(
  token: string | undefined,
  isSecure: boolean,
): readonly [string, string] {
  const maxAge = token === undefined ? 0 : Math.floor(LIMIT.sessionLifetimeMs / 1000);
  const attributes = ['Path=/console', `Max-Age=${maxAge}`, 'HttpOnly', 'SameSite=Strict'];
  if (isSecure) attributes.push('Secure');
  return ['Set-Cookie', [`${NAME}=${token ?? ''}`, ...attributes].join('; ')];
}
