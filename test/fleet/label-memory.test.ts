// Tests the memory of a process for labels that are in the record: it holds only what is still true, in fixed
// memory.

import { expect, it } from 'vitest';
import { tagLabels } from '../../src/domain/fleet/labels.ts';
import { NOT_RECORDED, StoredLabelMemory } from '../../src/fleet/label-memory.ts';
import { DELETED_REVISION, NOTED_REVISION } from '../../src/store/label-store.ts';

const TTL_MS = 600_000;
const DEVICE = { appId: 'app_1', deviceId: 'device-1' };

function labels(pairs: Record<string, string>): ReadonlyMap<string, string> {
  return new Map(Object.entries(pairs));
}

function tagOf(pairs: Record<string, string>): number {
  return tagLabels(labels(pairs));
}

it('holds what was noted of a device, in whatever order its labels come, and nothing else', () => {
  const memory = new StoredLabelMemory();
  expect(memory.holds(DEVICE, tagOf({}))).toBe(false);
  memory.note(DEVICE, labels({ ring: 'early', tier: 'gold' }), 3);
  const tag = tagOf({ tier: 'gold', ring: 'early' });
  expect(memory.holds(DEVICE, tag)).toBe(true);
  expect(memory.holds({ ...DEVICE, deviceId: 'device-2' }, tag)).toBe(false);
  expect(memory.holds({ ...DEVICE, appId: 'app_2' }, tag)).toBe(false);
  // Key and value are not just joined into one text.
  const others = [
    { ring: 'early' },
    { ring: 'late', tier: 'gold' },
    {},
    { rin: 'gearly', tier: 'gold' },
  ];
  for (const other of others as Record<string, string>[]) {
    expect(memory.holds(DEVICE, tagOf(other))).toBe(false);
  }
});

it('forgets what was noted before a change, not what was noted of it', () => {
  const memory = new StoredLabelMemory();
  memory.note(DEVICE, labels({ ring: 'early' }), 3);
  memory.forget(DEVICE, 3);
  expect(memory.holds(DEVICE, tagOf({ ring: 'early' }))).toBe(true);
  memory.forget({ ...DEVICE, deviceId: 'device-2' }, 9);
  expect(memory.holds(DEVICE, tagOf({ ring: 'early' }))).toBe(true);
  memory.forget(DEVICE, 4);
  expect(memory.holds(DEVICE, tagOf({ ring: 'early' }))).toBe(false);
});

it('what was sent is held until it is known to be lost, or changed after it was recorded', () => {
  const memory = new StoredLabelMemory();
  const said = tagOf({ battery: '80' });
  memory.noteSent(DEVICE, said, false);
  expect(memory.holds(DEVICE, said)).toBe(true);
  memory.forget(DEVICE, NOT_RECORDED);
  expect(memory.holds(DEVICE, said)).toBe(false);
  memory.noteSent(DEVICE, said, false);
  memory.forget(DEVICE, 7, said);
  memory.forget(DEVICE, 7, said);
  expect(memory.holds(DEVICE, said)).toBe(true);
  memory.forget(DEVICE, 8, said);
  expect(memory.holds(DEVICE, said)).toBe(false);
  memory.noteSent(DEVICE, said, false);
  memory.forget(DEVICE, DELETED_REVISION);
  expect(memory.holds(DEVICE, said)).toBe(false);
});

it('what was sent counts as recorded only by a record that consists of it', () => {
  const memory = new StoredLabelMemory();
  const tag = tagOf({ site: 'a' });
  const other = tagOf({ site: 'b' });
  memory.noteSent(DEVICE, tag, false);
  memory.forget(DEVICE, 1, tag);
  expect(memory.holds(DEVICE, tag)).toBe(true);
  memory.forget(DEVICE, 2, other);
  expect(memory.holds(DEVICE, tag)).toBe(false);
  // A change of its record was heard of before its own record, or both were found as one.
  memory.noteSent(DEVICE, tag, false);
  memory.forget(DEVICE, 4, other);
  memory.forget(DEVICE, 3, tag);
  expect(memory.holds(DEVICE, tag)).toBe(false);
  memory.forget(DEVICE, 5, tag);
  expect(memory.holds(DEVICE, tag)).toBe(false);
});

it('what was sent while a release asks for it is noted again, and looked up after an announcement', () => {
  const memory = new StoredLabelMemory();
  const said = tagOf({ battery: '80' });
  const other = tagOf({ battery: '81' });
  memory.noteSent(DEVICE, said, true);
  memory.forget(DEVICE, NOTED_REVISION);
  expect([memory.holds(DEVICE, said), memory.isInDoubt(DEVICE, said)]).toEqual([false, false]);
  memory.forget(DEVICE, 7);
  memory.forget(DEVICE, 8);
  expect([memory.holds(DEVICE, said), memory.isInDoubt(DEVICE, said)]).toEqual([false, true]);
  expect(memory.isInDoubt(DEVICE, other)).toBe(false);
  memory.note(DEVICE, labels({ battery: '80' }), 8);
  expect([memory.holds(DEVICE, said), memory.isInDoubt(DEVICE, said)]).toEqual([true, false]);
  memory.forget(DEVICE, NOTED_REVISION);
  expect(memory.holds(DEVICE, said)).toBe(false);
});

it('knows which labels no look at the stores would find, also after it has forgotten everything', () => {
  let now = 2 ** 31 - 5;
  const memory = new StoredLabelMemory(() => now);
  const said = tagOf({ battery: '80' });
  const other = tagOf({ battery: '81' });
  expect(memory.areNew(DEVICE, said)).toBe(false);
  memory.note(DEVICE, labels({ battery: '80' }), 3);
  expect([memory.areNew(DEVICE, said), memory.areNew(DEVICE, other)]).toEqual([false, true]);
  memory.noteSent(DEVICE, other, true);
  expect([memory.areNew(DEVICE, said), memory.areNew(DEVICE, other)]).toEqual([true, true]);
  now += 10;
  memory.clear();
  // Whether these are on record was perhaps announced meanwhile.
  expect([memory.areNew(DEVICE, said), memory.areNew(DEVICE, other)]).toEqual([true, false]);
  expect(memory.areNew({ ...DEVICE, deviceId: 'device-2' }, said)).toBe(false);
  now += 1;
  memory.noteSent(DEVICE, other, true);
  memory.forget(DEVICE, 7);
  now += 1;
  expect([memory.areNew(DEVICE, other), memory.isInDoubt(DEVICE, other)]).toEqual([false, true]);
  memory.clear();
  expect(memory.isInDoubt(DEVICE, other)).toBe(false);
  now += 1;
  memory.note(DEVICE, labels({ battery: '81' }), 7);
  now += 1;
  expect(memory.holds(DEVICE, other)).toBe(true);
});

it('forgets everything when it may have missed something, and each entry in time', () => {
  let now = 1000;
  const memory = new StoredLabelMemory(() => now);
  memory.note(DEVICE, labels({ ring: 'early' }), 3);
  now += TTL_MS - 1;
  expect(memory.holds(DEVICE, tagOf({ ring: 'early' }))).toBe(true);
  now += 1;
  expect(memory.holds(DEVICE, tagOf({ ring: 'early' }))).toBe(false);
  memory.note(DEVICE, labels({ ring: 'early' }), 3);
  memory.clear();
  expect(memory.holds(DEVICE, tagOf({ ring: 'early' }))).toBe(false);
});

it('a hundred thousand devices mostly fit, and none is ever taken for another', () => {
  const memory = new StoredLabelMemory();
  const nameOf = (index: number) => ({ appId: 'app_1', deviceId: `device-${index}` });
  for (let index = 0; index < 100_000; index++) {
    memory.note(nameOf(index), labels({ ring: String(index % 7) }), 1);
  }
  let [held, confused] = [0, 0];
  for (let index = 0; index < 100_000; index++) {
    if (memory.holds(nameOf(index), tagOf({ ring: String(index % 7) }))) held += 1;
    if (memory.holds(nameOf(index), tagOf({ ring: String((index + 1) % 7) }))) confused += 1;
  }
  expect(confused).toBe(0);
  expect(held).toBeGreaterThan(97_000);
});
