// Helpers that the tests of device labels share: a release for devices with a label, and checks for it.

import { expect } from 'vitest';
import { type Addressed, type CheckOptions, createTenant, type Tenant } from './tenant.ts';

/** The version that devices ask from and report. */
export const OLD = '1.0.0';
/** Longest wait; the promised time, 5 s (docs/contract.md 13.12), is measured in test/timed. */
const WAIT_MS_MAX = 60_000;
export const RING_INNER = { matchLabels: { ring: ['inner'] } };

/** A tenant with 2.0.0 on stable for devices with these labels. */
export const withTargeted = (node: Addressed, targets: object = RING_INNER) =>
  createTenant(node, ['2.0.0', { targets }]);

/** Asks for an update to 1.0.0, and tells whether there is one. */
export async function asks(tenant: Tenant, options: CheckOptions): Promise<boolean> {
  const answer = await tenant.check(OLD, options);
  expect([200, 204], answer.text).toContain(answer.status);
  return answer.status === 200;
}

/** Reports labels of a device and expects that they are accepted. */
export async function label(tenant: Tenant, deviceId: string, labels: object) {
  const device = { deviceId, version: OLD, platform: 'linux', arch: 'x86_64', labels };
  const answer = await tenant.report([device]);
  expect(answer.status, answer.text).toBe(200);
}

/** Expects that exactly these labels of the app's one device get on record. */
export async function expectLabels(tenant: Tenant, labels: object): Promise<void> {
  await expect
    .poll(async () => (await tenant.devices()).map((each) => each.labels), {
      timeout: WAIT_MS_MAX,
    })
    .toEqual([labels]);
}
