// The labels part of the engine contract, which every engine must fulfil.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import {
  type ChangePosition,
  LABEL_NOTE_KEYS_MAX,
  NOTED_REVISION,
} from '../../../src/store/label-store.ts';
import { eventually } from '../../support/eventually.ts';
import type { EnginesUnderTest, Rule } from './engines-under-test.ts';
import {
  confirmed,
  HOSTILE_TEXTS,
  NOTHING_HELD,
  notedIn,
  storedLabelsOf,
  unconfirmed,
} from './fleet-sample.ts';

/** Milliseconds in which the clocks of Redis and of a process have moved on for certain. */
const CLOCKS_MOVED_MS = 100;

export function labelRules(nodes: () => EnginesUnderTest, it: Rule): void {
  it('what one node remembers every node does, as soon as it is told; of other devices nothing', async () => {
    const { engine, second } = nodes();
    for (let round = 0; round < 20; round++) {
      const entry = storedLabelsOf(randomUUID(), round);
      expect(await second.getLabels([entry])).toEqual([NOTHING_HELD]);
      await engine.putLabels([entry]);
      expect(await second.getLabels([entry])).toStrictEqual(confirmed(entry));
    }
    expect(await engine.getLabels([])).toEqual([]);
  });

  it('what is dropped is remembered by nobody, and can be put again at any revision', async () => {
    const { engine, second } = nodes();
    const [gone, kept] = [storedLabelsOf(randomUUID(), 7), storedLabelsOf(randomUUID(), 7)];
    await engine.putLabels([gone, kept]);
    await engine.dropLabels([gone, storedLabelsOf(randomUUID(), 0)]);
    await engine.dropLabels([]);
    expect(await second.getLabels([gone, kept])).toEqual([NOTHING_HELD, ...confirmed(kept)]);
    const again = { ...gone, revision: 1 };
    await second.putLabels([again]);
    expect(await engine.getLabels([gone])).toEqual(confirmed(again));
  });

  it('of each device the highest revision stays, in whatever order and call it comes', async () => {
    const { engine, second } = nodes();
    const [one, other] = [randomUUID(), randomUUID()];
    const read = async () => engine.getLabels([storedLabelsOf(one, 0), storedLabelsOf(other, 0)]);
    // Compared as numbers: as text, 10 would stand before 9.
    for (const [index, revision] of [9, 8, 10, 9, 2].entries()) {
      await (index % 2 === 0 ? engine : second).putLabels([storedLabelsOf(one, revision)]);
    }
    // A device that is known better does not hold up the others of the call, and one may come twice.
    await engine.putLabels([
      storedLabelsOf(one, 4),
      ...[2, 3, 1].map((revision) => storedLabelsOf(other, revision)),
    ]);
    expect(await read()).toEqual(confirmed(storedLabelsOf(one, 10), storedLabelsOf(other, 3)));
  });

  it('that a device has no labels is remembered too, at revision 0 as at any other', async () => {
    const { engine } = nodes();
    const none = storedLabelsOf(randomUUID(), 0, new Map());
    await engine.putLabels([none]);
    expect(await engine.getLabels([none])).toStrictEqual(confirmed(none));
    await engine.putLabels([{ ...none, revision: 2 ** 40 }]);
    expect(await engine.getLabels([none])).toStrictEqual(confirmed({ ...none, revision: 2 ** 40 }));
  });

  it('answers come in the order asked, for 500 devices in one call, known and unknown', async () => {
    const { engine, second } = nodes();
    const devices = Array.from({ length: 500 }, () => storedLabelsOf(randomUUID(), 7));
    const known = devices.filter((_, index) => index % 3 !== 0);
    await engine.putLabels([...known].reverse());
    const twice = [...devices, ...devices.slice(0, 20)];
    expect(await second.getLabels(twice)).toEqual(
      twice.flatMap((device) => (known.includes(device) ? confirmed(device) : [NOTHING_HELD])),
    );
  });

  it('what one node notes every node reads, the newest of each key, until it is settled', async () => {
    const { engine, second } = nodes();
    const [one, two] = [storedLabelsOf(randomUUID(), 1), storedLabelsOf(randomUUID(), 1)];
    const note = (at: number, ...labels: [string, string][]) =>
      engine.noteLabels([{ ...one, at, labels: new Map(labels) }]);
    const settle = (settled: Record<string, number>) =>
      second.putLabels([{ ...one, settled: new Map(Object.entries(settled)) }]);
    await note(5, ['a', '1 '], ['b', '2']);
    await note(4, ['a', 'late'], ['c', '3']);
    const notes = {
      labels: new Map(Object.entries({ a: '1 ', b: '2', c: '3' })),
      times: new Map(Object.entries({ a: 5, b: 5, c: 4 })),
    };
    expect(await second.getLabels([two, one, one])).toEqual([
      NOTHING_HELD,
      ...[1, 2].map(() => ({ stored: undefined, isConfirmed: false, notes })),
    ]);
    await settle({ a: 4, c: 4, d: 4 });
    const held = { stored: one, isConfirmed: true };
    expect(await engine.getLabels([one])).toEqual([
      {
        ...held,
        notes: {
          labels: new Map(Object.entries({ a: '1 ', b: '2' })),
          times: new Map(Object.entries({ a: 5, b: 5 })),
        },
      },
    ]);
    await second.putLabels([one]);
    expect(await notedIn(engine, one)).toEqual(new Map(Object.entries({ a: '1 ', b: '2' })));
    await settle({ a: 5, b: 5 });
    expect(await engine.getLabels([one])).toEqual(confirmed(one));
    await note(6, ['a', '1']);
    await second.dropLabels([two, one]);
    expect(await engine.getLabels([one])).toEqual([NOTHING_HELD]);
    await engine.noteLabels([]);
  });

  it('what is noted is settled also by an entry that is not the newest, and confirms nothing', async () => {
    const { engine, second } = nodes();
    const newest = storedLabelsOf(randomUUID(), 9);
    await engine.putLabels([newest]);
    await engine.noteLabels([{ ...newest, at: 5, labels: new Map([['ring', 'noted']]) }]);
    expect(await notedIn(second, newest)).toEqual(new Map([['ring', 'noted']]));
    const older = storedLabelsOf(newest.deviceId, 8);
    await second.putLabels([{ ...older, settled: new Map([['ring', 5]]) }]);
    expect(await engine.getLabels([newest])).toEqual(confirmed(newest));
  });

  it('a device has at most 32 notes, the newest ones', async () => {
    const { engine, second } = nodes();
    const stored = storedLabelsOf(randomUUID(), 1);
    await engine.putLabels([stored]);
    for (let round = 0; round < 10; round++) {
      const labels = new Map(Array.from({ length: 16 }, (_, key) => [`${round}-${key}`, 'v']));
      await engine.noteLabels([{ ...stored, at: round, labels }]);
      const read = (await notedIn(second, stored)) ?? new Map();
      expect(read.size).toBeLessThanOrEqual(LABEL_NOTE_KEYS_MAX);
      expect([...read]).toEqual(expect.arrayContaining([...labels]));
    }
    expect((await engine.getLabels([stored]))[0]?.stored).toEqual(stored);
  });

  it('of 500 devices in one call each has its own notes, empty, long, of any number and any text', async () => {
    const { engine, second } = nodes();
    const notes = Array.from({ length: 500 }, (_, index) => {
      const keys = Array.from({ length: index % (LABEL_NOTE_KEYS_MAX + 1) }, (_, key) => `k${key}`);
      const labels = new Map(keys.map((key, place) => [key, '🚀'.repeat(place) + index]));
      if (index % 2 === 0 && keys.length > 0) labels.set('k0', '');
      const text = HOSTILE_TEXTS[index]?.toWellFormed() || 'text';
      if (keys.length > 1 && index < HOSTILE_TEXTS.length) labels.set(text, text);
      return { appId: `app_${randomUUID()}`, deviceId: text, labels, at: index };
    });
    await engine.noteLabels(notes);
    const read = await second.getLabels(notes);
    for (const [index, { labels, at }] of notes.entries()) {
      const times = new Map([...labels.keys()].map((key) => [key, at]));
      expect(read[index]?.notes).toEqual(labels.size === 0 ? undefined : { labels, times });
    }
  });

  it('device ids and labels may be any text, and no two devices are one', async () => {
    const { engine, second } = nodes();
    const apps = [`app_${randomUUID()}`, `app_${randomUUID()}`];
    const entries = apps.flatMap((appId) =>
      HOSTILE_TEXTS.map((deviceId, index) => {
        // Labels on record have a form in UTF-8.
        const keys = HOSTILE_TEXTS.slice(index).map((text) => text.toWellFormed());
        const value = `${appId} ${index} ${deviceId.toWellFormed()}`;
        const labels = new Map(keys.map((key) => [key, value]));
        const times = new Map(keys.map((key, place) => [key, place]));
        return { appId, deviceId, labels, times, revision: index };
      }),
    );
    await engine.putLabels(entries);
    const read = await second.getLabels(entries);
    expect(read).toStrictEqual(confirmed(...entries));
    expect(read.map(({ stored }) => [...(stored?.labels ?? [])])).toEqual(
      entries.map(({ labels }) => [...labels]),
    );
  });

  it('what its teller does to the labels afterwards does not change them', async () => {
    const { engine } = nodes();
    const labels = new Map([['ring', 'a']]);
    const entry = storedLabelsOf(randomUUID(), 1, labels);
    await engine.putLabels([entry]);
    labels.set('ring', 'b');
    expect((await engine.getLabels([entry]))[0]?.stored?.labels.get('ring')).toBe('a');
  });

  it('the position in the changes is unknown at first, and moved by whoever knows where it is', async () => {
    const { engine, second } = nodes();
    const start = await engine.readLabelPosition();
    const [one, two] = [0, 10].map((more) => ({
      epoch: start?.epoch ?? 0,
      position: (start?.position ?? 2 ** 33) + 1 + more,
    })) as [ChangePosition, ChangePosition];
    expect(await second.moveLabelPosition(two, one, false)).toBe(false);
    expect(await engine.readLabelPosition()).toEqual(start);
    expect(await engine.moveLabelPosition(start, one, false)).toBe(true);
    expect(await second.readLabelPosition()).toEqual(one);
    // A second process that began at the same position was slower.
    expect(await second.moveLabelPosition(start, two, true)).toBe(false);
    expect(await second.moveLabelPosition(one, two, false)).toBe(true);
    expect(await engine.readLabelPosition()).toEqual(two);
    // To where a ledger is that went back.
    const back = { epoch: two.epoch + 1, position: 3 };
    expect(await engine.moveLabelPosition(two, back, false)).toBe(true);
    expect(await second.readLabelPosition()).toEqual(back);
  });

  it('labels in doubt are there, unconfirmed, until they are put again, at whatever revision', async () => {
    const { engine, second } = nodes();
    const [doubted, other] = [storedLabelsOf(randomUUID(), 9), storedLabelsOf(randomUUID(), 9)];
    // Also in the millisecond in which they were put.
    for (let position = 1; position <= 20; position++) {
      const from = await engine.readLabelPosition();
      await engine.putLabels([doubted, other]);
      expect(await second.moveLabelPosition(from, { epoch: 8, position }, true)).toBe(true);
      expect(await engine.readLabelPosition()).toEqual({ epoch: 8, position });
      expect(await second.getLabels([doubted])).toEqual(unconfirmed(doubted));
      expect(await engine.getLabels([doubted])).toEqual(unconfirmed(doubted));
    }
    // An age is known to the millisecond: what is put in that of the doubt counts as put before it.
    await sleep(CLOCKS_MOVED_MS);
    const lower = storedLabelsOf(doubted.deviceId, 2, new Map([['ring', 'other']]));
    await eventually('what is put later is confirmed', async () => {
      await second.putLabels([lower]);
      const read = await Promise.all([engine, second].map((node) => node.getLabels([lower])));
      return read.every(([entry]) => entry?.isConfirmed);
    });
    expect(await second.getLabels([lower, other])).toEqual([
      ...confirmed(lower),
      ...unconfirmed(other),
    ]);
    // Confirmed, it stays as ever.
    await engine.putLabels([{ ...lower, revision: 1 }]);
    expect(await engine.getLabels([lower])).toEqual(confirmed(lower));
  });

  it('notifications of changed labels reach the listeners of every node, the one that tells included', async () => {
    const { engine, second } = nodes();
    const device = randomUUID();
    const heard: number[] = [];
    for (const node of [engine, second]) {
      node.onLabels(
        (notifications) => {
          for (const each of notifications) if (each.deviceId === device) heard.push(each.revision);
        },
        () => undefined,
      );
    }
    // A subscription begins in the background: an announcement before that may be lost.
    await eventually('both hear', async () => {
      await engine.tellLabels([{ appId: 'app_1', deviceId: device, revision: 1 }]);
      return heard.length >= 2 * 2;
    });
    await second.tellLabels([{ appId: 'app_1', deviceId: device, revision: 7 }]);
    await eventually('both heard', async () => heard.filter((each) => each === 7).length === 2);
    const labels = new Map([['ring', 'noted']]);
    await second.noteLabels([{ appId: 'app_1', deviceId: device, at: 1, labels }]);
    await eventually('both heard of the note', async () => {
      return heard.filter((each) => each === NOTED_REVISION).length === 2;
    });
  });
}
