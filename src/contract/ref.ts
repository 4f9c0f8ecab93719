// Refs of apps, names of channels, and texts that many devices send by mistake as their id.

import { LIMIT } from './limit.ts';

// Grammar of app refs and channel names. A name is one path segment of a device URL and never needs escaping.
// No app or channel can have a text that does not match, so no store is asked for it.

const REF_GRAMMAR = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** Grammar of app ids. Refs must not match it, because the parameter `app` may be a ref or an id. */
const APP_ID = /^app_[0-9a-z]{26}$/;

/** Returns whether a text can be an app's ref or id, or a channel's name. */
export function isRef(text: string): boolean {
  return text.length <= LIMIT.refLengthMax && REF_GRAMMAR.test(text);
}

/** Returns whether a text is allowed as the ref of a new app. */
export function isFreeRef(text: string): boolean {
  return isRef(text) && !APP_ID.test(text);
}

// Kinds of texts that many devices send by mistake as their id, as the service counts and reports them.

/** Kinds of mistaken ids, each with a description of what devices send. */
export const MISTAKEN_ID_WORDS = {
  undefined: '"undefined"',
  null: '"null"',
  nil: '"nil"',
  none: '"none"',
  nan: '"NaN"',
  true: '"true"',
  false: '"false"',
  unknown: '"unknown"',
  object: 'an object as text, such as "[object Object]"',
  template: 'a template that was not filled in, such as "{{device}}"',
  zeros: 'an id of zeros, such as the zero UUID',
  ones: 'the UUID of nothing but f',
  factory: 'an id that a maker gives to all machines',
} as const;

export type MistakenId = keyof typeof MISTAKEN_ID_WORDS;

export const MISTAKEN_IDS = Object.keys(MISTAKEN_ID_WORDS) as readonly MistakenId[];
