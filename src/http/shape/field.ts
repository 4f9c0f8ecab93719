// Shapes of fields that several bodies and queries share.

import { z } from 'zod';
import { LIMIT } from '../../contract/limit.ts';
import { parseUrl } from '../../contract/parse-url.ts';
import { RELEASE_STATUSES } from '../../contract/resource.ts';
import {
  HAS_CONTROLS,
  hasControls,
  isLongerThan,
  isStorable,
  NOT_STORABLE,
  turnsText,
} from '../../contract/text.ts';
import { parseVersion } from '../../domain/decision/version.ts';

/**
 * Shape of a text of `min` to `max` characters that can be stored: PostgreSQL takes no NUL, and half a
 * surrogate pair is no character in UTF-8.
 */
export function textField(max: number, min = 1) {
  const bound = Number.isFinite(max) ? { maxLength: max } : {};
  return z
    .string()
    .refine((text) => text.length >= min, { error: 'Must not be empty', abort: true })
    .refine((text) => !isLongerThan(text, max), `Must have at most ${max} characters`)
    .refine((text) => isStorable(text), NOT_STORABLE)
    .meta({ ...bound, minLength: min });
}

/** Shape of a text like `textField` without control characters other than `allowed` ones. */
export function plainTextField(max: number, allowed = '') {
  return textField(max).refine((text) => !hasControls(text, allowed), HAS_CONTROLS);
}

/**
 * Name by which a caller refers to something that exists: an app's ref or id, a channel's name, an id. Any
 * text is accepted, because an unknown name is a 404.
 */
export const nameField = textField(1024);

export const versionField = z
  .string()
  .refine((text) => parseVersion(text) !== undefined, 'Invalid version');

/**
 * Returns the value of a parameter in which no space can stand, such as a version or a format: what form
 * decoding made a space was a `+`, which many clients send as it is (docs/contract.md 1.8).
 */
export function withPlus(value: string): string {
  return value.replaceAll(' ', '+');
}

/** Version in a query. */
export const versionParameter = z.string().overwrite(withPlus).pipe(versionField);

export const rolloutField = z.int().min(0).max(LIMIT.rolloutPctMax);

/** Reason of a change, for the audit; an empty one is none. */
export const reasonField = textField(LIMIT.reasonLengthMax, 0).transform(
  (text) => text || undefined,
);

const NOT_A_TIME = 'Must be an RFC 3339 time';

/**
 * Time, converted to UTC: PostgreSQL accepts every UTC time of the years 1 to 9999, but not every offset.
 */
export const timeField = z.iso
  .datetime({ offset: true, error: NOT_A_TIME })
  .transform((text) => new Date(text).toISOString())
  .refine((time) => /^(?!0000)\d{4}-/.test(time), NOT_A_TIME);

export const statusField = z.enum(RELEASE_STATUSES);

/** Shape of a whole number in a query, where every value is text. */
export function wholeField(min: number, max: number, fallback: number) {
  return z.coerce.number().int().min(min).max(max).default(fallback);
}

/**
 * Email address, lower-cased, because accounts are looked up by it. Only its form is checked, not whether the
 * address exists.
 */
export const emailField = z
  .string()
  .transform((text) => text.trim().toLowerCase())
  .refine(
    (text) =>
      /^[^\s@]+@[^\s@]+$/.test(text) && text.length <= LIMIT.emailLengthMax && isStorable(text),
    'Must be an email address',
  );

/** New password of an account. Only its length is checked, because length is what makes it strong. */
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

const FORMAT = new RegExp(`^[a-z0-9][a-z0-9.+-]{0,${LIMIT.artifactFormatLengthMax - 1}}$`);

const TURNS_REASON = 'Must not contain bidirectional control characters';

/** Display name of an app, an organization, an account or a key, where it is given. */
export const titleField = textField(LIMIT.nameLengthMax).refine(
  (text) => !turnsText(text),
  TURNS_REASON,
);

/** Email address of a new account or an invitation. */
export const newEmailField = emailField.refine((text) => !turnsText(text), TURNS_REASON);

/** URL of an artifact. */
export const urlField = plainTextField(LIMIT.artifactUrlLengthMax).refine(
  isHttpUrl,
  'Must be an absolute http(s) URL',
);

/** Format of an artifact: one that Sluice knows, or a publisher's own name. */
export const formatField = z
  .string()
  .regex(FORMAT, `Must be a format's name of at most ${LIMIT.artifactFormatLengthMax} characters`);

/** Checksum of so many hexadecimal digits; kept in lower case. */
export function hexField(digits: number) {
  return z
    .string()
    .regex(new RegExp(`^[0-9a-fA-F]{${digits}}$`), `Must be ${digits} hexadecimal digits`)
    .transform((text) => text.toLowerCase());
}

/** Version of an operating system. */
export const systemVersionField = textField(LIMIT.systemVersionLengthMax).regex(
  /^\d+(?:\.\d+)*$/,
  'Must be dotted numbers',
);

/** JSON object whose keys are read one by one: `z.record` would lose a key such as `__proto__`. */
export const objectField = z.custom<Record<string, unknown>>(isPlainObject, {
  error: 'Expected an object',
});

function isPlainObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isHttpUrl(text: string): boolean {
  return /^https?:\/\/[^\s]+$/i.test(text) && parseUrl(text) !== undefined;
}
