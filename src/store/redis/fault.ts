// What may be told about a driver's error. Its own object is not fit for a log: it carries the failed
// command with all arguments, among them the password of a login and the body of a snapshot.

import type { RedisTarget } from './target.ts';

/** The error's message and code, with the passwords blotted out wherever a server echoed them. */
export function faultOf(error: unknown, { login, sentinel }: RedisTarget): Error {
  let message = error instanceof Error ? error.message : String(error);
  for (const password of [login.password, sentinel?.login.password]) {
    if (password !== undefined) message = message.replaceAll(password, '***');
  }
  const told = new Error(message);
  return Object.assign(told, error instanceof Error && 'code' in error && { code: error.code });
}
