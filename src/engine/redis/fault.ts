// What may be told about a driver's error. Its own object is not fit for a log: it carries the failed
// command with all arguments, among them the password of a login and the body of a snapshot.

import type { RedisTarget } from './target.ts';

/** The error's message and code, with the password blotted out wherever the server echoed it. */
export function faultOf(error: unknown, { login }: RedisTarget): Error {
  const message = error instanceof Error ? error.message : String(error);
  const { password } = login;
  const told = new Error(password === undefined ? message : message.replaceAll(password, '***'));
  return Object.assign(told, error instanceof Error && 'code' in error && { code: error.code });
}
