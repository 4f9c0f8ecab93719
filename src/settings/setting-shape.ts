// Shapes of the settings' values: what a variable of a kind may hold, and what becomes of it.

import { z } from 'zod';
import { parseUrl } from '../contract/parse-url.ts';
import { splitHosts } from '../contract/split-hosts.ts';

export const HTTP_SCHEMES = ['http:', 'https:'];
export const PORT_MAX = 65_535;
/** Minimum length of a token or key that somebody has typed, where others can reach the service. */
export const SECRET_LENGTH_MIN = 32;
/** Maximum number of values that a secret has at a time; trying a key costs each process time. */
const SECRETS_MAX = 8;
const REDIS_SCHEMES = ['redis:', 'rediss:'];
const SENTINEL_SCHEMES = ['redis+sentinel:', 'rediss+sentinel:'];

/** Text, or the fallback where it is unset or empty. */
export function text(fallback: string) {
  return z
    .string()
    .optional()
    .transform((value) => value || fallback);
}

/** Text; undefined where it is unset or empty. */
export function optionalText() {
  return z
    .string()
    .optional()
    .transform((value) => value || undefined);
}

/** Parses the values of a secret, which commas separate: while it changes, the old one counts as well. */
export function severalSecrets(
  value: string | undefined,
  { addIssue }: z.RefinementCtx,
): readonly string[] {
  if (value === undefined) return [];
  const parts = value.split(',');
  if (parts.length === 1) return parts;
  const min = SECRET_LENGTH_MIN;
  // A secret from before commas had a meaning must not become several that can be guessed.
  if (parts.some(({ length }) => length < min)) {
    addIssue(`commas separate several values, of which each must have at least ${min} characters`);
  } else if (parts.some((part) => part !== part.trim())) {
    addIssue('the commas between several values must have no spaces beside them');
  } else if (parts.length > SECRETS_MAX) addIssue(`must have at most ${SECRETS_MAX} values`);
  return parts;
}

/** One of these texts. */
export function oneOf<const Values extends readonly [string, ...string[]]>(
  values: Values,
  fallback: Values[number],
) {
  return z
    .string()
    .optional()
    .transform((value) => value || fallback)
    .pipe(z.enum(values, { error: `must be one of ${values.join(', ')}` }));
}

/** Whole number within bounds. */
export function whole(fallback: number, min: number, max: number) {
  const reason = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .optional()
    .transform((value) => (value ? value.trim() : String(fallback)))
    .refine((value) => /^\d{1,6}$/.test(value), reason)
    .transform(Number)
    .refine((value) => value >= min && value <= max, reason);
}

/** Base URL, without the slashes at its end. */
export function baseUrl() {
  return optionalText()
    .refine(
      (value) => value === undefined || (isUrl(value, HTTP_SCHEMES) && !/[?#]/.test(value)),
      'must be an http:// or https:// address, without query and fragment',
    )
    .transform((value) => value?.replace(/\/+$/, ''));
}

/** Parses `host:port`, with an IPv6 address in brackets; returns undefined for anything else. */
export function parseListenAddress(
  value: string,
): { readonly host: string; readonly port: number } | undefined {
  const [, inBrackets, name, digits] =
    /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:/[\]]+)):(\d{1,5})$/.exec(value) ?? [];
  const host = inBrackets ?? name;
  const port = Number(digits);
  return host === undefined || port > PORT_MAX ? undefined : Object.freeze({ host, port });
}

/** Whether the value is an address of Redis, or of a cluster, whose later nodes may be `host:port`. */
export function isRedisAddress(value: string): boolean {
  if (splitHosts(value).every((address) => isUrl(address, SENTINEL_SCHEMES))) return true;
  const parts = value.split(',').map((part) => part.trim());
  const [first = '', ...others] = parts.filter((part) => part !== '');
  const urls = others.map((part) => (part.includes('://') ? part : `redis://${part}`));
  return [first, ...urls].every((url) => isUrl(url, REDIS_SCHEMES));
}

/** Whether the value is a URL of one of these schemes. */
export function isUrl(value: string, schemes: readonly string[]): boolean {
  return schemes.includes(parseUrl(value)?.protocol ?? '');
}
