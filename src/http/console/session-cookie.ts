// Cookies of the console: the session, and the one by which a browser that signed in before is known. Scripts
// cannot read them, and pages of other sites cannot make a browser send them.

import { LIMIT } from '../../contract/limit.ts';
import type { Exchange } from '../exchange.ts';
import type { HeaderPair } from '../reply.ts';

const SESSION = 'sluice_session';
const BROWSER = 'sluice_browser';

/** Returns the token in the session's cookie, valid or not; undefined without the cookie. */
export function sessionCookie(exchange: Pick<Exchange, 'headers'>): string | undefined {
  return readCookie(exchange, SESSION);
}

/** Returns the cookie by which a browser may be known, genuine or not; undefined without it. */
export function browserCookie(exchange: Pick<Exchange, 'headers'>): string | undefined {
  return readCookie(exchange, BROWSER);
}

/** Returns the header that sets the session's cookie to a token; undefined removes it. */
export function setSessionCookie(token: string | undefined, isSecure: boolean): HeaderPair {
  return setCookie(
    SESSION,
    token ?? '',
    token === undefined ? 0 : LIMIT.sessionLifetimeMs,
    isSecure,
  );
}

/** Returns the header that sets the cookie by which the browser is known. Signing out leaves it. */
export function setBrowserCookie(cookie: string, isSecure: boolean): HeaderPair {
  return setCookie(BROWSER, cookie, LIMIT.knownBrowserLifetimeMs, isSecure);
}

function readCookie({ headers }: Pick<Exchange, 'headers'>, name: string): string | undefined {
  for (const pair of (headers.get('cookie') ?? '').split(';')) {
    const at = pair.indexOf('=');
    if (at !== -1 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return undefined;
}

function setCookie(name: string, value: string, lifetimeMs: number, isSecure: boolean): HeaderPair {
  const maxAge = Math.floor(lifetimeMs / 1000);
  const attributes = ['Path=/console', `Max-Age=${maxAge}`, 'HttpOnly', 'SameSite=Strict'];
  if (isSecure) attributes.push('Secure');
  return ['Set-Cookie', [`${name}=${value}`, ...attributes].join('; ')];
}
