// The part of the engine contract about the actions of devices that speak DDI, which every engine must
// fulfil.

import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { ActionChange, StoredActions } from '../../../src/store/action-store.ts';
import type { EnginesUnderTest, Rule } from './engines-under-test.ts';

const device = (deviceId: string = randomUUID()) => ({ appId: 'app_1', deviceId });

function stored(deviceId: string, revision: number): StoredActions {
  return { ...device(deviceId), revision, text: `[1,${revision},"${deviceId}"]` };
}

function change(deviceId: string, expected: number, unstoredSince = 5): ActionChange {
  return { ...stored(deviceId, expected + 1), expected, unstoredSince };
}

export function actionRules(nodes: () => EnginesUnderTest, it: Rule): void {
  /** Returns what a node holds of devices: the text, and since when the ledger lacks it. */
  async function held(ids: readonly string[]) {
    const found = await nodes().second.getActions(ids.map(device));
    return found.map((each) => each && [each.text, each.unstoredSince]);
  }

  it('of a change that several make, one is made, and every node reads it', async () => {
    const { engine, second } = nodes();
    const [id, other] = [randomUUID(), randomUUID()];
    expect(await held([id])).toEqual([undefined]);
    const made = await Promise.all([
      engine.changeActions([change(id, 0)]),
      second.changeActions([change(id, 0)]),
    ]);
    expect(made.flat().sort()).toEqual([false, true]);
    expect(await engine.changeActions([change(id, 0), change(other, 0), change(id, 1)])).toEqual([
      false,
      true,
      true,
    ]);
    expect(await held([other, id, randomUUID()])).toEqual([
      [stored(other, 1).text, 5],
      [stored(id, 2).text, 5],
      undefined,
    ]);
  });

  it('what the ledger has is put, but for a later change, and is then stored', async () => {
    const { engine, second } = nodes();
    const id = randomUUID();
    await engine.putActions([stored(id, 9)]);
    // Compared as numbers: as text, 10 would stand before 9.
    expect(await second.changeActions([change(id, 9)])).toEqual([true]);
    await engine.putActions([stored(id, 9)]);
    expect(await held([id])).toEqual([[stored(id, 10).text, 5]]);
    await engine.noteStored([{ ...device(id), revision: 9 }]);
    expect(await held([id])).toEqual([[stored(id, 10).text, 5]]);
    await engine.noteStored([{ ...device(id), revision: 10 }]);
    expect(await held([id])).toEqual([[stored(id, 10).text, 0]]);
    await second.putActions([stored(id, 11)]);
    expect(await held([id])).toEqual([[stored(id, 11).text, 0]]);
  });

  it('what is dropped is held by nobody, and begins anew', async () => {
    const { engine, second } = nodes();
    const [gone, kept] = [randomUUID(), randomUUID()];
    await engine.putActions([stored(gone, 3), stored(kept, 3)]);
    await second.dropActions([device(gone)]);
    expect(await held([gone, kept])).toEqual([undefined, [stored(kept, 3).text, 0]]);
    expect(await engine.changeActions([change(gone, 3), change(gone, 0)])).toEqual([false, true]);
  });

  it('the position in the changes is unknown at first, and moved from where it is', async () => {
    const { engine, second } = nodes();
    const start = await engine.readActionPosition();
    const [one, two] = [
      { epoch: 1, position: 2 ** 33 },
      { epoch: 2, position: 3 },
    ];
    expect(await second.moveActionPosition(two, one)).toBe(false);
    expect(await second.moveActionPosition(start, one)).toBe(true);
    expect(await engine.moveActionPosition(start, two)).toBe(false);
    expect(await engine.readActionPosition()).toEqual(one);
    expect(await engine.moveActionPosition(one, two)).toBe(true);
    expect(await second.readActionPosition()).toEqual(two);
  });
}
