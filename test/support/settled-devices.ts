// Devices on record once every check-in that came before is there: those of a stream of the queue are
// recorded in their order, so a marker of each part of the devices is waited for.

import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { DEVICE_PARTS, devicePart } from '../../src/domain/decision/hashes.ts';
import { eventually } from './eventually.ts';
import type { Tenant } from './tenant.ts';

/** Returns the ids of the app's devices once all check-ins before this call are on record. */
export async function settledDevices(tenant: Tenant): Promise<string[]> {
  const markers = new Map<number, string>();
  while (markers.size < DEVICE_PARTS) {
    const id = `marker-${randomUUID()}`;
    markers.set(devicePart(tenant.appId, id), id);
  }
  for (const device of markers.values()) {
    expect([200, 204]).toContain((await tenant.check('1.0.0', { device })).status);
  }
  let ids: string[] = [];
  await eventually('the markers are on record', async () => {
    ids = (await tenant.devices()).map(({ deviceId }) => String(deviceId));
    return [...markers.values()].every((id) => ids.includes(id));
  });
  return ids.filter((id) => !id.startsWith('marker-'));
}
