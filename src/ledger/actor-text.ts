// How the audit spells who did it.

import type { Actor } from '../ports/ledger.ts';

/** `admin-token`, or the kind and the name it was given to the ledger under: `key:…`, `account:…`. */
export function actorText(actor: Actor): string {
  return actor.kind === 'admin-token' ? 'admin-token' : `${actor.kind}:${actor.name}`;
}
