// Publishes the apps of the scenarios on a running node through its APIs. The node may be of any commit,
// because the APIs, unlike the tables, stay the same.

import type { ServingNode } from '../../test/support/node.ts';
import { admin, createTenant, publish, type Tenant } from '../../test/support/tenant.ts';
import { artifactsOf, CHANNEL, type FixedRelease, NOTES } from '../service/fixed-channel.ts';
import { FOLLOWED, SCENARIO_APPS } from '../service/scenarios.ts';

/**
 * Creates every app that the scenarios ask about and publishes its releases. A commit from before channels
 * could follow another one has the channel that would be followed, and no more.
 */
export async function publishScenarios(node: ServingNode): Promise<void> {
  for (const [ref, { own, followed }] of Object.entries(SCENARIO_APPS)) {
    const tenant = await createTenant(node, ref);
    await publishAll(node, tenant, CHANNEL, own);
    if (followed === undefined) continue;
    await admin(node, 'POST', 'channels', { app: ref, name: FOLLOWED });
    await publishAll(node, tenant, FOLLOWED, followed);
    await admin(node, 'PATCH', 'channels', { app: ref, name: CHANNEL, follows: FOLLOWED });
  }
}

async function publishAll(
  node: ServingNode,
  tenant: Tenant,
  channel: string,
  releases: readonly FixedRelease[],
): Promise<void> {
  for (const { version, rolloutPct: rollout = 100, targets } of releases) {
    const { status, text } = await publish(node, tenant, version, {
      ...{ channel, notes: NOTES, artifacts: artifactsOf(version), rollout },
      ...(targets === undefined ? {} : { targets }),
    });
    if (status !== 201)
      throw new Error(`${version} on ${channel} not published: ${status} ${text}`);
  }
}
