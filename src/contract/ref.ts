// Grammar of app refs and channel names. A name is one path segment of a device URL and never needs escaping.
// A text that does not match cannot exist, so no store is asked for it.

import { LIMIT } from './limit.ts';

const REF_GRAMMAR = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** Grammar of ids. Refs must not match it, because `app` may be a ref or an id. */
const APP_ID = /^app_[0-9a-z]{26}$/;

/** Returns whether a text can be an app's ref or id, or a channel's name. */
export function isRef(text: string): boolean {
  return text.length <= LIMIT.refLengthMax && REF_GRAMMAR.test(text);
}

/** Returns whether a text is allowed as the ref of a new app. */
export function isFreeRef(text: string): boolean {
  return isRef(text) && !APP_ID.test(text);
}
