// Devices as fleet reports have them, and what is on record of their offers.

import { eventually } from './eventually.ts';
import type { Tenant } from './tenant.ts';

const PLAIN = { version: '1.0.0', platform: 'linux', arch: 'x86_64', channel: 'stable' };

/** Returns a device on 1.0.0 of stable and Linux, unless `parts` say otherwise. */
export function machine(deviceId: string, parts: object = {}) {
  return { deviceId, ...PLAIN, ...parts };
}

/** Returns this many of them, whose ids begin with `name`. */
export function machines(count: number, parts: object = {}, name = 'device') {
  return Array.from({ length: count }, (_, index) => machine(`${name}-${index}`, parts));
}

/** Waits until this many devices of the app are on record as offered a version. */
export function untilOffered(tenant: Tenant, version: string, count = 1): Promise<void> {
  return eventually(`${count} were offered ${version}`, async () => {
    return (await tenant.devices(`offered=${version}`)).length === count;
  });
}
