// Tests the course of a purge: part after part until its time is up, and where the next call goes on.

import { describe, expect, it } from 'vitest';
import { fail } from '../../src/contract/failure.ts';
import { PurgeDevices } from '../../src/fleet/fleet-views.ts';
import type { PurgePlace } from '../../src/store/fleet-ledger.ts';
import type { DeviceName } from '../../src/store/label-store.ts';
import type { Ledger } from '../../src/store/ledger.ts';
import type { Actor } from '../../src/store/ledger-terms.ts';

const OPERATOR: Actor = { kind: 'admin-token' };
const CALL = {
  purge: {
    app: { id: 'app_1', ref: 'notes', organizationId: 'org_1' },
    firstSeenAfter: '2026-01-01T00:00:00.000Z',
    version: undefined,
  },
  after: undefined,
  isDryRun: false,
} as const;
/** Time that each part takes. */
const PART_MS = 900;

/** Ledger of five parts, `1` to `5`, with two devices each, of which part 3 has none that is deleted. */
function setUp() {
  let now = 0;
  const parts: string[] = [];
  const forgotten: string[] = [];
  const placeAfter = (after = '0') => (after === '4' ? undefined : String(Number(after) + 1));
  const found = (after = '0') => (after === '2' ? [] : [`${after}a`, `${after}b`]);
  const ledger: Pick<Ledger, 'purgeDevices' | 'countPurgeable'> = {
    async purgeDevices(_purge, { after, auditEntryId, devices }, actor) {
      now += PART_MS;
      parts.push(`${after} ${auditEntryId} ${devices}`);
      if (actor.kind !== 'admin-token') return fail('forbidden');
      const purged = found(after);
      const place: PurgePlace = {
        after: placeAfter(after),
        auditEntryId: 'entry',
        devices: devices + purged.length,
      };
      return { purged, place };
    },
    async countPurgeable(_purge, after) {
      now += PART_MS;
      return { devices: found(after).length, after: placeAfter(after) };
    },
  };
  const labels = {
    async forget(devices: readonly DeviceName[]) {
      forgotten.push(...devices.map(({ appId, deviceId }) => `${appId}/${deviceId}`));
    },
  };
  return { purge: new PurgeDevices({ ledger, labels, now: () => now }), parts, forgotten };
}

describe('a purge', () => {
  it.each([false, true])(
    'works for two seconds and tells where to go on; as a dry run (%s) it deletes nothing',
    async (isDryRun) => {
      const { purge, parts, forgotten } = setUp();
      const call = { ...CALL, isDryRun };
      expect(await purge.purge(call, OPERATOR)).toEqual({ devices: 4, next: '3' });
      const first = ['undefined undefined 0', '1 entry 2', '2 entry 4'];
      expect(parts).toEqual(isDryRun ? [] : first);
      const rest = await purge.purge({ ...call, after: '3' }, OPERATOR);
      expect(rest).toEqual({ devices: 4, next: null });
      const ids = ['0a', '0b', '1a', '1b', '3a', '3b', '4a', '4b'].map((id) => `app_1/${id}`);
      expect(forgotten).toEqual(isDryRun ? [] : ids);
    },
  );

  it('ends when its actor has lost the right', async () => {
    const { purge, forgotten } = setUp();
    expect(await purge.purge(CALL, { kind: 'stranger' })).toEqual(fail('forbidden'));
    expect(forgotten).toEqual([]);
  });
});
