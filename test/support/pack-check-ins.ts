// Check-ins as the pack that a node would make of them.

import type { CheckIn } from '../../src/domain/check-in.ts';
import { SharedKind } from '../../src/domain/check-in-kind.ts';
import { type CheckInPack, CheckInPacker } from '../../src/domain/check-in-pack.ts';

/** Packs check-ins, in their order. */
export function packCheckIns(checkIns: readonly CheckIn[]): CheckInPack {
  const packer = new CheckInPacker();
  const kinds = new Map<string, SharedKind>();
  for (const { deviceId, at, labels, ...kind } of checkIns) {
    const key = JSON.stringify(Object.values(kind));
    const known = kinds.get(key) ?? new SharedKind(kind);
    kinds.set(key, known);
    packer.add(known, deviceId, at, labels);
  }
  return packer.take();
}
