// Check-ins as the pack that a node would make of them.

import type { CheckIn } from '../../src/domain/check-in.ts';
import { type CheckInPack, CheckInPacker } from '../../src/domain/check-in-pack.ts';
import { type CheckInOrigin, SharedPart, sharedVersion } from '../../src/domain/shared-part.ts';

/** Packs check-ins, in their order. */
export function packCheckIns(checkIns: readonly CheckIn[]): CheckInPack {
  const packer = new CheckInPacker();
  const origins = new Map<string, SharedPart<CheckInOrigin>>();
  for (const { deviceId, at, labels, version, ...origin } of checkIns) {
    const key = JSON.stringify(Object.values(origin));
    const known = origins.get(key) ?? new SharedPart(origin);
    origins.set(key, known);
    packer.add(known, sharedVersion(version), deviceId, at, labels);
  }
  return packer.take();
}
