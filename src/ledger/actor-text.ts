// Text by which the audit names an actor.

import type { Actor } from '../ports/actor.ts';

/** Returns `admin-token`, or the actor's kind and name: `key:…`, `account:…`, `integration:…`. */
export function actorText(actor: Actor): string {
  return actor.kind === 'admin-token' ? 'admin-token' : `${actor.kind}:${actor.name}`;
}
