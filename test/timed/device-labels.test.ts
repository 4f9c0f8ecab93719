// Measures the time after which labels of a check are on record (docs/contract.md 13.12).

import { expect, it } from 'vitest';
import { type Backend, describeOnBackends, suiteNode } from '../support/backend.ts';
import { OLD } from '../support/device-labels.ts';
import { createTenant } from '../support/tenant.ts';

/** Longest time until the labels of a check are on record. */
const RECORDED_MS_MAX = 5000;

describeOnBackends('labels in time', (backend: Backend) => {
  const node = suiteNode(() => backend.start());

  it('labels that no release asks for are on record within 5 s, the last ones of all', async () => {
    const tenant = await createTenant(node);
    for (let battery = 100; battery > 80; battery -= 1) {
      await tenant.check(OLD, { device: 'd', query: `l.battery=${battery}&l.site=a` });
    }
    await expect
      .poll(async () => (await tenant.devices()).map(({ labels }) => labels), {
        timeout: RECORDED_MS_MAX,
      })
      .toEqual([{ battery: '81', site: 'a' }]);
  });
});
