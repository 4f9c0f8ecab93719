// Fields that several bodies share.

import { z } from 'zod';
import { LIMIT } from '../../contract/limit.ts';
import { RELEASE_STATUSES } from '../../contract/resource.ts';
import { isLongerThan } from '../../domain/label.ts';
import { parseVersion } from '../../domain/version.ts';

/**
 * Text of `min` to `max` characters that can be stored: PostgreSQL takes no NUL, and half a surrogate
 * pair is no character in UTF-8.
 */
export function textField(max: number, min = 1) {
  return z
    .string()
    .refine((text) => text.length >= min, { error: 'Must not be empty', abort: true })
    .refine((text) => !isLongerThan(text, max), `Must have at most ${max} characters`)
    .refine(isStorable, 'Must not contain NUL or broken characters');
}

/** Whether PostgreSQL can hold the text. */
export function isStorable(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed();
}

/** An app's ref or id, or a channel's name, as a reference: any text, since an unknown one is a 404. */
export const nameField = textField(1024);

export const versionField = z
  .string()
  .refine((text) => parseVersion(text) !== undefined, 'Invalid version');

export const rolloutField = z.int().min(0).max(LIMIT.rolloutPctMax);

export const statusField = z.enum(RELEASE_STATUSES);

/** A whole number in a query, where everything is text. */
export function wholeField(min: number, max: number, fallback: number) {
  return z.coerce.number().int().min(min).max(max).default(fallback);
}

/** In lower case, as accounts are found by it. That it can be written to is for a person to see. */
export const emailField = z
  .string()
  .transform((text) => text.trim().toLowerCase())
  .refine(
    (text) =>
      /^[^\s@]+@[^\s@]+$/.test(text) && text.length <= LIMIT.emailLengthMax && isStorable(text),
    'Must be an email address',
  );

/** A password that somebody chooses; the length is what makes it strong. */
export const newPasswordField = z
  .string()
  .refine(
    (text) => text.length >= LIMIT.passwordLengthMin,
    `Must have at least ${LIMIT.passwordLengthMin} characters`,
  )
  .refine(
    (text) => !isLongerThan(text, LIMIT.passwordLengthMax),
    `Must have at most ${LIMIT.passwordLengthMax} characters`,
  )
  .refine((text) => text.isWellFormed(), 'Must not contain broken characters');

/** A name that people see. */
export const titleField = textField(LIMIT.nameLengthMax);

/** Where an artifact lies. */
export const urlField = textField(LIMIT.artifactUrlLengthMax).refine(
  isHttpUrl,
  'Must be an absolute http(s) URL',
);

function isHttpUrl(text: string): boolean {
  return /^https?:\/\/[^\s]+$/i.test(text) && URL.canParse(text);
}
