// Parses values that callers send: into a valid value, or a 400 that names the first wrong field.

import type { z } from 'zod';
import { fail, invalidField, isFailure, type Outcome } from '../../contract/failure.ts';
import type { Exchange } from '../transport/exchange.ts';

/** Maximum length of an app's name in the access log, above that of every ref and id. */
const APP_LENGTH_MAX = 100;

type RawIssue = z.core.$ZodRawIssue;

/**
 * Parses a value by a shape. The message of the refusal has the form `devices.0.version: Invalid version`.
 */
export function parseShape<Shape extends z.ZodType>(
  shape: Shape,
  value: unknown,
): Outcome<z.output<Shape>> {
  const parsed = shape.safeParse(value, { error: describe });
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  if (issue === undefined) return fail('invalid');
  const path = issue.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0]] : issue.path;
  return invalidField(path.length === 0 ? 'body' : path.join('.'), issue.message);
}

/**
 * Parses the request's JSON body by a shape. Refusals: 413 too large; 408 too slow; 503 all bodies together
 * too large; 400 malformed JSON, or the first wrong field.
 */
export async function parseBody<Shape extends z.ZodType>(
  exchange: Exchange,
  shape: Shape,
): Promise<Outcome<z.output<Shape>>> {
  const body = await exchange.body;
  if (isFailure(body)) return body;
  const value = readJson(body);
  if (value === undefined) return fail('invalid', 'Invalid JSON body');
  noteApp(exchange, value);
  return parseShape(shape, value);
}

/** Parses the request's query by a shape; of a repeated name, the last value counts. */
export function parseQuery<Shape extends z.ZodType>(
  exchange: Pick<Exchange, 'queryText' | 'notes'>,
  shape: Shape,
): Outcome<z.output<Shape>> {
  const query = Object.fromEntries(new URLSearchParams(exchange.queryText));
  noteApp(exchange, query);
  return parseShape(shape, query);
}

/** Stores the app that the input of a request names in the notes, for the access log and traces. */
export function noteApp({ notes }: Pick<Exchange, 'notes'>, input: unknown): void {
  const app = typeof input === 'object' && input !== null && 'app' in input ? input.app : undefined;
  if (typeof app === 'string') notes.app = app.slice(0, APP_LENGTH_MAX);
}

/** Parses JSON. Returns undefined, which is no JSON value, if the bytes are not UTF-8 or not JSON. */
export function readJson(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

/** Words an issue independently of the library's version; a shape's own words take precedence. */
function describe(issue: RawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'Required' : `Expected ${article(issue.expected)}`;
    case 'unrecognized_keys':
      return 'Unrecognized key';
    case 'invalid_value':
      return issue.input === undefined ? 'Required' : `Must be one of ${issue.values.join(', ')}`;
    case 'too_small':
      return bound(issue.origin, 'at least', issue.minimum);
    case 'too_big':
      return bound(issue.origin, 'at most', issue.maximum);
    default:
      return undefined;
  }
}

function article(expected: string): string {
  if (expected === 'int') return 'an integer';
  return `${/^[aeiou]/.test(expected) ? 'an' : 'a'} ${expected}`;
}

function bound(type: string, side: string, limit: number | bigint): string {
  if (type === 'array') return `Must have ${side} ${limit} ${limit === 1 ? 'item' : 'items'}`;
  return `Must be ${side} ${limit}`;
}
