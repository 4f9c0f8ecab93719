// Effect of a change as a caller may see it.

import type { Caller } from '../../access/api-keys.ts';
import type { Effect } from '../../contract/dry-run.ts';

/** Names devices only to a key that may read. */
export function effectFor({ may }: Caller, effect: Effect): Effect {
  return may.includes('read') ? effect : { ...effect, examples: { gain: [], lose: [] } };
}
