// Tests that every way in finds the same in a release, and where findings are told beside it: in the answer
// to a change of a channel's settings (docs/contract.md 11.25, 23.3).

import { beforeEach, expect, it } from 'vitest';
import { serviceSuite } from '../support/service-suite.ts';
import { ARTIFACT, admin, control, createTenant, publish, type Tenant } from '../support/tenant.ts';

serviceSuite('findings', (node) => {
  let tenant: Tenant;
  beforeEach(async () => {
    tenant = await createTenant(node);
  });

  it('a minimum version that not every device is offered is in the answer to the settings (§11.25)', async () => {
    const set = async (change: object, name = 'stable') => {
      const { status, body } = await admin(node, 'PATCH', 'channels', {
        ...{ app: tenant.app, name },
        ...change,
      });
      expect(status).toBe(200);
      return body?.findings;
    };
    const unmet = (words: string) => [
      {
        path: 'minimumSupportedVersion',
        severity: 'warning',
        message: expect.stringMatching(words),
      },
    ];
    await publish(node, tenant, '1.0.0');
    const artifacts = [{ ...ARTIFACT, url: 'https://dl.example.com/2/app.AppImage' }];
    await publish(node, tenant, '2.0.0', { rollout: 30, artifacts });
    expect(await set({ minimumSupportedVersion: '1' })).toBeUndefined();
    expect(await set({ minimumSupportedVersion: '2' })).toEqual(unmet('2.0.0 is at 30 %'));
    expect(await set({ defaultRollout: 10 })).toEqual(unmet('2.0.0 is at 30 %'));
    expect(await set({ minimumSupportedVersion: '3.0.0' })).toBeUndefined();
    expect(await set({ minimumSupportedVersion: '2.0.0' })).toEqual(unmet('2.0.0 is at 30 %'));
    expect(await set({ minimumSupportedVersion: '2.0.0', follows: 'stable' }, 'beta')).toEqual(
      unmet('2.0.0 is at 30 %'),
    );
    await control(node, tenant, '2.0.0', { rollout: 100 });
    expect(await set({ minimumSupportedVersion: '2.0.0' })).toBeUndefined();
    expect(await set({ defaultRollout: 20 }, 'beta')).toBeUndefined();
    await publish(node, tenant, '2.0.0', { channel: 'beta', rollout: 20, artifacts });
    expect(await set({ defaultRollout: 30 }, 'beta')).toEqual(unmet('2.0.0 is at 20 %'));
  });
});
