// Words for an actor of the audit log.

import { PROVIDER_NAMES } from './webhook-provider.ts';

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
      return `the webhook of ${hostName(name)}`;
    default:
      return actor;
  }
}

function hostName(provider: string): string {
  const names: Readonly<Record<string, string>> = PROVIDER_NAMES;
  return Object.hasOwn(names, provider) ? (names[provider] ?? provider) : provider;
}
