// The labels part of the engine contract, which every engine must fulfil.

import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import type { EnginesUnderTest } from './engines-under-test.ts';
import { HOSTILE_TEXTS, storedLabelsOf } from './fleet-sample.ts';

export function labelRules(nodes: () => EnginesUnderTest): void {
  it('of a device nobody told of, nothing is remembered', async () => {
    const { engine } = nodes();
    const devices = [{ appId: 'app_1', deviceId: randomUUID() }];
    expect(await engine.getLabels(devices)).toEqual([undefined]);
    expect(await engine.getLabels([])).toEqual([]);
  });

  it('what one node remembers every node does, as soon as it is told', async () => {
    const { engine, second } = nodes();
    for (let round = 0; round < 20; round++) {
      const entry = storedLabelsOf(randomUUID(), round);
      await engine.putLabels([entry]);
      expect(await second.getLabels([entry])).toStrictEqual([entry]);
    }
  });

  it('an entry with a higher revision stays, whatever order writers come in', async () => {
    const { engine, second } = nodes();
    const device = randomUUID();
    const revisions = [9, 8, 10, 9, 2];
    for (const [index, revision] of revisions.entries()) {
      await (index % 2 === 0 ? engine : second).putLabels([storedLabelsOf(device, revision)]);
    }
    // Compared as numbers: as text, 10 would stand before 9.
    expect(await engine.getLabels([storedLabelsOf(device, 0)])).toEqual([
      storedLabelsOf(device, 10),
    ]);
  });

  it('of writers at once the highest revision stays', async () => {
    const { engine, second } = nodes();
    const device = randomUUID();
    // 17 has no factor in common with 50: every revision once, in no order.
    const revisions = Array.from({ length: 50 }, (_, index) => ((index * 17) % 50) + 1);
    await Promise.all(
      revisions.map((revision, index) =>
        (index % 2 === 0 ? engine : second).putLabels([storedLabelsOf(device, revision)]),
      ),
    );
    expect(await engine.getLabels([storedLabelsOf(device, 0)])).toEqual([
      storedLabelsOf(device, 50),
    ]);
  });

  it('one device that is known better does not hold up the others of the call', async () => {
    const { engine } = nodes();
    const [known, other] = [randomUUID(), randomUUID()];
    await engine.putLabels([storedLabelsOf(known, 5)]);
    await engine.putLabels([storedLabelsOf(known, 4), storedLabelsOf(other, 1)]);
    expect(await engine.getLabels([storedLabelsOf(known, 0), storedLabelsOf(other, 0)])).toEqual([
      storedLabelsOf(known, 5),
      storedLabelsOf(other, 1),
    ]);
  });

  it('a device twice in one call keeps the higher revision', async () => {
    const { engine } = nodes();
    const device = randomUUID();
    await engine.putLabels([2, 3, 1].map((revision) => storedLabelsOf(device, revision)));
    expect(await engine.getLabels([storedLabelsOf(device, 0)])).toEqual([
      storedLabelsOf(device, 3),
    ]);
  });

  it('that a device has no labels is remembered too, at revision 0 as at any other', async () => {
    const { engine } = nodes();
    const none = storedLabelsOf(randomUUID(), 0, new Map());
    await engine.putLabels([none]);
    expect(await engine.getLabels([none])).toStrictEqual([none]);
    await engine.putLabels([{ ...none, revision: 2 ** 40 }]);
    expect(await engine.getLabels([none])).toStrictEqual([{ ...none, revision: 2 ** 40 }]);
  });

  it('answers come in the order asked, for 500 devices in one call, known and unknown', async () => {
    const { engine, second } = nodes();
    const devices = Array.from({ length: 500 }, () => storedLabelsOf(randomUUID(), 7));
    const known = devices.filter((_, index) => index % 3 !== 0);
    await engine.putLabels([...known].reverse());
    const twice = [...devices, ...devices];
    expect(await second.getLabels(twice)).toEqual(
      twice.map((device) => (known.includes(device) ? device : undefined)),
    );
  });

  it('device ids and labels may be any text, and no two devices are one', async () => {
    const { engine, second } = nodes();
    const apps = [`app_${randomUUID()}`, `app_${randomUUID()}`];
    const entries = apps.flatMap((appId) =>
      HOSTILE_TEXTS.map((deviceId, index) => {
        const keys = HOSTILE_TEXTS.slice(index);
        const labels = new Map(keys.map((key) => [key, `${appId} ${index} ${deviceId}`]));
        return { appId, deviceId, labels, revision: index };
      }),
    );
    await engine.putLabels(entries);
    const read = await second.getLabels(entries);
    expect(read).toStrictEqual(entries);
    expect(read.map((entry) => [...(entry?.labels ?? [])])).toEqual(
      entries.map(({ labels }) => [...labels]),
    );
  });

  it('what its teller does to the labels afterwards does not change them', async () => {
    const { engine } = nodes();
    const labels = new Map([['ring', 'a']]);
    const entry = storedLabelsOf(randomUUID(), 1, labels);
    await engine.putLabels([entry]);
    labels.set('ring', 'b');
    expect((await engine.getLabels([entry]))[0]?.labels.get('ring')).toBe('a');
  });

  it('news of changed labels reach the listeners of every node, the one that tells included', async () => {
    const { engine, second } = nodes();
    const device = randomUUID();
    const heard: number[] = [];
    for (const node of [engine, second]) {
      node.onLabels(
        (news) => {
          for (const each of news) if (each.deviceId === device) heard.push(each.revision);
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
  });
}
