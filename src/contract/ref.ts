// How apps and channels may be named. A name is one path segment of a device's address and never needs
// escaping there; what does not fit the grammar cannot exist, so nobody has to ask a store about it.

import { LIMIT } from './limit.ts';

export const REF_GRAMMAR = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** Ids begin with their type; a ref of that form would make `app` ambiguous, which takes a ref or an id. */
const APP_ID = /^app_[0-9a-z]{26}$/;

/** Whether a text can be the ref or the id of an app, or the name of a channel. */
export function isRef(text: string): boolean {
  return text.length <= LIMIT.refLengthMax && REF_GRAMMAR.test(text);
}

/** Whether a text may become the ref of a new app. */
export function isFreeRef(text: string): boolean {
  return isRef(text) && !APP_ID.test(text);
}
