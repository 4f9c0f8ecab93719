// Turns what a caller sent into a checked value, or into the one 400 that names the field at fault.

import type { z } from 'zod';
import { fail, invalidField, isFailure, type Outcome } from '../../contract/failure.ts';
import type { Exchange } from '../exchange.ts';

type RawIssue = z.core.$ZodRawIssue;

/** A value in a given shape; the message has the form `devices.0.version: Invalid version`. */
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

/** The request's JSON body in a given shape. 413 too large, 400 malformed JSON or the first wrong field. */
export async function parseBody<Shape extends z.ZodType>(
  exchange: Exchange,
  shape: Shape,
): Promise<Outcome<z.output<Shape>>> {
  const body = await exchange.body;
  if (isFailure(body)) return body;
  const value = readJson(body);
  return value === undefined ? fail('invalid', 'Invalid JSON body') : parseShape(shape, value);
}

/** Undefined when the bytes are not UTF-8 or not JSON; no JSON text is undefined itself. */
export function readJson(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

/** Reasons in words that stay the same whatever the library's own are; shapes may give their own. */
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

function bound(origin: string, side: string, limit: number | bigint): string {
  if (origin === 'array') return `Must have ${side} ${limit} ${limit === 1 ? 'item' : 'items'}`;
  if (origin === 'string')
    return `Must have ${side} ${limit} ${limit === 1 ? 'character' : 'characters'}`;
  return `Must be ${side} ${limit}`;
}
