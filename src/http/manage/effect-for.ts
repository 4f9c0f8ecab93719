// Effect of a change as a caller may see it.

import type { Effect } from '../../contract/rehearsed.ts';
import type { Caller } from '../../operations/access/authenticate-key.ts';

/** Names devices only to a key that may read. */
export function effectFor({ may }: Caller, effect: Effect): Effect {
  return may.includes('read') ? effect : { ...effect, examples: { gain: [], lose: [] } };
}
