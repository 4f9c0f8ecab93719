// Calls the console API. The session is a cookie that this code never sees.

import { ApiError } from './api-error.ts';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

const BASE = '/console/api/';

/** Told when the session, or what it may do, is no longer what the page thinks; set once. */
let onRefused: (isSignedOut: boolean) => void = () => undefined;

/** The answer's JSON. Rejects with an `ApiError` for every refusal and fault, and when nobody answers. */
export async function call<Value>(method: Method, path: string, body?: unknown): Promise<Value> {
  return JSON.parse(await callForText(method, path, body)) as Value;
}

/** The same, not parsed: equal texts are equal answers. */
export async function callForText(method: Method, path: string, body?: unknown): Promise<string> {
  const response = await reach(method, path, body);
  const text = await response.text();
  if (response.ok) return text === '' ? '{}' : text;
  // A wrong password is a 401 as well, but that of a call that makes a session and needs none.
  const needsNone = method === 'POST' && /^(?:session|setup|invitation)$/.test(path);
  if (response.status === 401 && !needsNone) onRefused(true);
  if (response.status === 403) onRefused(false);
  throw new ApiError(response.status, readError(text) ?? `The service answered ${response.status}`);
}

/** Whom to tell that the session is over, or that its role no longer suffices. */
export function whenRefused(listener: (isSignedOut: boolean) => void): void {
  onRefused = listener;
}

async function reach(method: Method, path: string, body: unknown): Promise<Response> {
  try {
    return await fetch(BASE + path, {
      method,
      credentials: 'same-origin',
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
    });
  } catch {
    throw new ApiError(0, 'The service cannot be reached');
  }
}

function readError(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown };
    return typeof error === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
}
