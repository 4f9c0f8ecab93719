// Words of the audit log: for an actor, and for a change of a release.

import { wordFor } from './text.ts';
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
      return `the webhook of ${wordFor(PROVIDER_NAMES, name)}`;
    default:
      return actor;
  }
}

export const AUDIT_DEEDS = [
  'published',
  'paused',
  'rolled_back',
  'deprecated',
  'raised',
  'lowered',
  'retargeted',
] as const;
export type AuditDeed = (typeof AUDIT_DEEDS)[number];
