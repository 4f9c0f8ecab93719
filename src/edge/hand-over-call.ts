// Call by which an edge hands over what its devices have said.

import { Unavailable } from '../contract/unavailable.ts';
import type { HandOverDependencies } from './journal-sender.ts';
import type { UpstreamClient } from './upstream-client.ts';

/** Longest time of a call: an upstream whose queue is in its process records before it answers. */
const CALL_MS_MAX = 15_000;

/** Returns the call that hands batches over to an endpoint, whose body is made of them by `join`. */
export function handOverCall(
  client: Pick<UpstreamClient, 'call'>,
  path: 'check-ins' | 'failures',
  join: (batches: readonly Buffer[]) => Buffer | object,
): HandOverDependencies['send'] {
  return async (batches) => {
    const call = { method: 'POST', path, body: join(batches), timeoutMs: CALL_MS_MAX } as const;
    const proven = await client.call('check-ins', call);
    if (proven === undefined) throw new Unavailable('upstream', new Error('it answers nothing'));
    return proven.answer;
  };
}
