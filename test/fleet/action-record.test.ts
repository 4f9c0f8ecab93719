// Tests what becomes of a change of actions that the engine does not take: the ledger keeps it, and the
// caller is told that it was made (docs/contract.md 34.36). That nodes agree on it is tested in
// test/faults/ddi.test.ts.

import { describe, expect, it } from 'vitest';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { closeAction } from '../../src/domain/fleet/action-reports.ts';
import { actionId, type DeviceActions, NO_ACTIONS } from '../../src/domain/fleet/device-actions.ts';
import { packActions } from '../../src/domain/fleet/packed-actions.ts';
import { ActionRecord } from '../../src/fleet/action-record.ts';
import { UnstoredActions } from '../../src/fleet/unstored-actions.ts';
import { createLog } from '../../src/observe/log.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import type { ActionStore, ActionWrite } from '../../src/store/action-store.ts';
import type { DeviceName } from '../../src/store/label-store.ts';
import { createMemoryEngine } from '../../src/store/memory/memory-engine.ts';

const DEVICE = { appId: 'app_1', deviceId: 'board-1' };
const BEGUN: DeviceActions = {
  ...NO_ACTIONS,
  revision: 3,
  action: {
    ...{ number: 2, version: '2.0.0', state: 'fetched', since: 0, channelId: 'stable' },
    order: { epoch: 0, revision: 1 },
  },
};

/** A record whose engine refuses changes, and does as `drop` says with what it is to drop. */
async function recordOf(drop: 'takes out' | 'refuses') {
  const memory = createMemoryEngine();
  await memory.putActions([{ ...DEVICE, revision: BEGUN.revision, text: packActions(BEGUN) }]);
  const away = () => Promise.reject(new Unavailable('engine', 'it is full'));
  const engine: ActionStore = {
    ...memory,
    changeActions: away,
    dropActions: drop === 'takes out' ? memory.dropActions : away,
  };
  let stored = BEGUN.revision;
  const ledger = {
    readActions: async (devices: readonly DeviceName[]) =>
      devices.map((device) => ({ ...device, isRecorded: true, actions: undefined })),
    writeActions: async (writes: readonly ActionWrite[]) =>
      writes.map(({ revision }) => {
        if (revision <= stored) return false;
        stored = revision;
        return true;
      }),
    recordFailures: async () => undefined,
  } as unknown as ConstructorParameters<typeof UnstoredActions>[0]['ledger'];
  const [metrics, log] = [new Metrics(), createLog('silent')];
  const unstored = new UnstoredActions({ ledger, engine, metrics, log });
  let waits = 0;
  const untilFollowed = async () => {
    waits += 1;
  };
  const record = new ActionRecord({
    ...{ ledger, engine, unstored, untilFollowed, metrics },
    now: () => 0,
  });
  const close = () =>
    record.alter(DEVICE, 'close', (device, now) =>
      closeAction(device, actionId(2, 0), 'failed', now),
    );
  return {
    close,
    stored: () => stored,
    held: () => engine.getActions([DEVICE]),
    waits: () => waits,
  };
}

describe('a closing that the engine refuses', () => {
  it('is kept by the ledger, and is told as one', async () => {
    const { close, stored, held, waits } = await recordOf('takes out');
    expect(await close()).toMatchObject({ action: { number: 2 } });
    expect(stored()).toBe(BEGUN.revision + 1);
    expect(await held()).toEqual([undefined]);
    expect(waits()).toBe(0);
  });

  it('is refused where the engine still tells the state before', async () => {
    const { close, waits } = await recordOf('refuses');
    await expect(close()).rejects.toThrow('it takes no changes');
    expect(waits()).toBe(1);
  });
});
