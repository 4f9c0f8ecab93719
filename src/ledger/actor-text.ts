// How the audit spells who did it.

import type { Actor } from '../ports/ledger.ts';

/** `admin-token`, or `key:` and the name the key was given to the ledger under. */
export function actorText(actor: Actor): string {
  return actor.kind === 'admin-token' ? 'admin-token' : `key:${actor.name}`;
}
