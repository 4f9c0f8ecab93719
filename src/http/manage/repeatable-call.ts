// Idempotency keys of management calls: a call that carries one may be repeated.

import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Caller } from '../../access/api-keys.ts';
import { isFailure, type Outcome } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { RepeatableCall } from '../../store/repeatable-call.ts';
import type { BodyFailureKind } from '../body.ts';
import type { Exchange } from '../exchange.ts';
import { textField } from '../shape/field.ts';
import { parseShape } from '../shape/parse-shape.ts';

const HEADER = 'Idempotency-Key';

const headersShape = z.object({ [HEADER]: textField(LIMIT.idempotencyKeyLengthMax) });

/** Reads the identity of a call; undefined when it carries no key, 400 when the key is empty or too long. */
export async function readRepeatableCall(
  { keyId }: Caller,
  { method, path, headers, body }: Exchange,
): Promise<Outcome<RepeatableCall | undefined, 'invalid' | BodyFailureKind>> {
  const given = headers.get(HEADER.toLowerCase());
  if (given === undefined) return undefined;
  const read = parseShape(headersShape, { [HEADER]: given });
  if (isFailure(read)) return read;
  const bytes = await body;
  if (isFailure(bytes)) return bytes;
  const request = createHash('sha256').update(`${method} ${path}\n`).update(bytes).digest('hex');
  return { keyId, idempotencyKey: read[HEADER], request };
}
