// Every write of the console API, in one list, so that no test of permissions misses one.

import { ARTIFACT, randomId, type Tenant } from './tenant.ts';

export type Role = 'owner' | 'publisher' | 'viewer';
export type Call = readonly [method: string, path: string, body?: unknown];

/** Returns every write, with the lowest role that may do it. Each can be repeated. */
export function consoleWrites(
  { app, org }: Pick<Tenant, 'app' | 'org'>,
  made: { keyId: string; invitationId: string; accountId: string },
): readonly (readonly [Role, ...Call])[] {
  const on = { app, channel: 'stable' };
  const version = `2.0.0-${randomId()}`;
  return [
    ['publisher', 'POST', 'releases', { ...on, version, artifacts: [ARTIFACT] }],
    ['publisher', 'PATCH', 'releases', { ...on, version: '1.0.0', status: 'published' }],
    ['owner', 'PATCH', 'organizations', { org, name: `Org ${randomId()}` }],
    ['owner', 'POST', 'apps', { org, ref: `app-${randomId()}`, name: 'Another' }],
    ['owner', 'PATCH', 'apps', { app, name: `App ${randomId()}` }],
    ['owner', 'POST', 'channels', { app, name: `channel-${randomId()}` }],
    ['owner', 'PATCH', 'channels', { app, name: 'beta', defaultRollout: 50 }],
    ['owner', 'POST', 'keys', { org, name: 'more' }],
    ['owner', 'POST', `keys/${made.keyId}/revoke`],
    ['owner', 'POST', 'invitations', { org, email: `${randomId()}@example.com`, role: 'viewer' }],
    ['owner', 'POST', `invitations/${made.invitationId}/revoke`],
    ['owner', 'PATCH', 'members', { org, account: made.accountId, role: 'viewer' }],
    ['owner', 'DELETE', 'members', { org, account: made.accountId }],
    ['owner', 'POST', 'devices/purge', { app, firstSeenAfter: '2100-01-01T00:00:00Z' }],
    ['owner', 'POST', 'gateway-tokens', { app, name: 'proxy' }],
    ['owner', 'POST', 'gateway-tokens/revoke', { app, id: 'gwt_none' }],
    ['owner', 'POST', 'ddi-secrets', { app }],
    ['owner', 'POST', 'ddi-secrets/remove', { app, id: 'dds_none' }],
    ['owner', 'POST', 'webhooks', { app, provider: 'github' }],
    ['owner', 'PATCH', 'webhooks', { app, provider: 'github', hold: true }],
    ['owner', 'POST', 'webhooks/disable', { app }],
  ];
}
