// Words for an actor of the audit log.

import { PROVIDER_NAMES } from './webhook-provider.ts';
import { wordFor } from './word-for.ts';

/** Names an actor as people do: `key ci`, `its plan`, `the operator`. */
export function actorWords(actor: string): string {
  if (actor === 'admin-token') return 'the operator';
  if (actor === 'service') return 'the service';
  const [kind, ...rest] = actor.split(':');
  const name = rest.join(':');
  switch (kind) {
    case 'account':
      return name;
    case 'key':
      return `key ${/\((.*)\)$/s.exec(name)?.[1] ?? name}`;
    case 'plan':
      return 'its plan';
    case 'integration':
      return `the webhook of ${wordFor(PROVIDER_NAMES, name)}`;
    default:
      return actor;
  }
}
