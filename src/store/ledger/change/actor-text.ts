// Text by which the audit and the messages name an actor.

import type { Actor } from '../../ledger-terms.ts';

/**
 * Returns `admin-token`, `service`, `unknown`, or the actor's kind and name: `key:…`, `account:…`, `plan:…`,
 * `integration:…`.
 */
export function actorText(actor: Actor): string {
  switch (actor.kind) {
    case 'admin-token':
      return 'admin-token';
    case 'service':
      return 'service';
    case 'stranger':
      return 'unknown';
    case 'key':
      return `key:${actor.id} (${actor.name})`;
    case 'account':
    case 'token':
      return `account:${actor.email}`;
    case 'plan':
      return `plan:${actor.id}`;
    case 'integration':
      return `integration:${actor.provider}`;
  }
}
