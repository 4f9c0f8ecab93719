// Query of the calls that can be rehearsed.

import { z } from 'zod';
import { isFailure, type Outcome } from '../../contract/failure.ts';
import { parseShape } from './parse-shape.ts';

const dryRunQuery = z.object({ dryRun: z.enum(['true', 'false']).default('false') });

/** Reads `dryRun`: whether the call is to write nothing. Other parameters are ignored. */
export function readDryRun(queryText: string): Outcome<boolean, 'invalid'> {
  const query = parseShape(dryRunQuery, Object.fromEntries(new URLSearchParams(queryText)));
  return isFailure(query) ? query : query.dryRun === 'true';
}
