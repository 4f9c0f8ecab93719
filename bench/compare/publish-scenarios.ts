// Publishes the apps of the scenarios on a running node through its APIs. The node may be of any commit,
// because the APIs, unlike the tables, stay the same.

import type { ServingNode } from '../../test/support/node.ts';
import { createTenant, publish } from '../../test/support/tenant.ts';
import { artifactsOf, NOTES } from '../service/fixed-channel.ts';
import { SCENARIO_APPS } from '../service/scenarios.ts';

/** Creates every app that the scenarios ask about and publishes its releases. */
export async function publishScenarios(node: ServingNode): Promise<void> {
  for (const [ref, releases] of Object.entries(SCENARIO_APPS)) {
    const tenant = await createTenant(node, ref);
    for (const { version, rolloutPct: rollout = 100, targets } of releases) {
      const { status, text } = await publish(node, tenant, version, {
        notes: NOTES,
        artifacts: artifactsOf(version),
        rollout,
        ...(targets === undefined ? {} : { targets }),
      });
      if (status !== 201) throw new Error(`${version} of ${ref} not published: ${status} ${text}`);
    }
  }
}
