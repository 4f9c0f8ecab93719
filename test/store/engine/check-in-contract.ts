// The check-ins part of the engine contract, which every engine must fulfil.

import { expect } from 'vitest';
import type { CheckIn } from '../../../src/domain/fleet/check-in.ts';
import type { CheckInBatch, CheckInQueue } from '../../../src/store/check-in-queue.ts';
import { eventually } from '../../support/eventually.ts';
import { packCheckIns } from '../../support/pack-check-ins.ts';
import type { EnginesUnderTest, Rule } from './engines-under-test.ts';
import { batchOf, checkInOf, devicesIn, HOSTILE_TEXTS, idsOf } from './fleet-sample.ts';

/** Long enough that nothing is abandoned during a test. */
const NEVER_MS = 600_000;
const HOUR_MS = 3_600_000;

export function checkInRules(nodes: () => EnginesUnderTest, rule: Rule): void {
  const it: Rule = (title, body) =>
    rule(title, async () => {
      await emptyQueue(nodes().engine);
      await body();
    });
  acceptingRules(nodes, it);
  takingRules(nodes, it);
  waitingRules(nodes, it);
  contentRules(nodes, it);
}

function acceptingRules(nodes: () => EnginesUnderTest, it: Rule): void {
  it('an accepted batch reaches whoever takes check-ins, on any node', async () => {
    const { engine, second } = nodes();
    const batch = ['a', 'b', 'c'].map((deviceId) => checkInOf(deviceId));
    expect(await engine.appendCheckIns(packCheckIns(batch))).toBe('accepted');
    const taken = await second.takeCheckIns('taker', 10, 0, NEVER_MS);
    expect(taken).toEqual([{ id: expect.any(String), checkIns: batch }]);
  });

  it('what its appender does to the batch afterwards does not change it', async () => {
    const { engine } = nodes();
    const pack = packCheckIns([checkInOf('a')]);
    await engine.appendCheckIns(pack);
    pack.rows.fill(0);
    expect(devicesIn(await engine.takeCheckIns('taker', 1, 0, NEVER_MS))).toEqual(['a']);
  });

  it('of many batches under way at a time, small and large, each is what it was', async () => {
    const { engine } = nodes();
    for (const sizes of [
      [1, 800, 2, 40],
      Array.from({ length: 20 }, (_, index) => index * 20 + 1),
    ]) {
      const batches = sizes.map((size, batch) =>
        Array.from({ length: size }, (_, index) =>
          checkInOf(`${batch} ${'x'.repeat(100)} ${index}`),
        ),
      );
      await Promise.all(batches.map((batch) => engine.appendCheckIns(packCheckIns(batch))));
      const taken = await engine.takeCheckIns('taker', sizes.length, 0, NEVER_MS);
      expect(taken.map(({ checkIns }) => checkIns)).toEqual(batches);
      await engine.acknowledgeCheckIns(idsOf(taken));
    }
  });

  it('its age is that of the oldest batch that is not acknowledged, taken or not, for every node', async () => {
    const { engine, second } = nodes();
    expect(await engine.ageOfCheckIns()).toBe(0);
    await engine.appendCheckIns(packCheckIns(batchOf('a')));
    const isOld = async () => (await second.ageOfCheckIns()) >= 20;
    await eventually('it is 20 ms old', isOld);
    for (const device of ['b', 'c', 'd']) {
      await engine.appendCheckIns(packCheckIns(batchOf(device)));
    }
    expect(await isOld()).toBe(true);
    const taken = await engine.takeCheckIns('taker', 10, 0, NEVER_MS);
    expect(await isOld()).toBe(true);
    await engine.acknowledgeCheckIns(idsOf(taken));
    expect(await second.ageOfCheckIns()).toBe(0);
  });

  it('its region has one name for every node, and keeps it while any of them runs', async () => {
    const { engine, second } = nodes();
    const region = await engine.nameRegion();
    expect(await second.nameRegion()).toBe(region);
    expect(await engine.nameRegion()).toBe(region);
  });

  it('at its bound it is full, for every node: nothing is accepted, and nothing accepted is lost', async () => {
    const { engine, second } = nodes();
    const accepted = await fill(engine);
    expect(await second.appendCheckIns(packCheckIns(batchOf('refused')))).toBe('full');
    expect(await engine.countCheckIns()).toBe(accepted);
    // A batch that was taken and not acknowledged still counts.
    const [first] = await engine.takeCheckIns('taker', 1, 0, NEVER_MS);
    expect(await engine.appendCheckIns(packCheckIns(batchOf('refused')))).toBe('full');
    await engine.acknowledgeCheckIns([first?.id ?? '']);
    expect(await second.appendCheckIns(packCheckIns(batchOf('last')))).toBe('accepted');
    expect(await engine.appendCheckIns(packCheckIns(batchOf('refused')))).toBe('full');
    const devices = ['0', ...(await emptyQueue(engine))].sort();
    const appended = Array.from({ length: accepted }, (_, index) => String(index));
    expect(devices).toEqual([...appended, 'last'].sort());
    // The bound is one of bytes: small batches are many, large ones few.
    const labels = new Map(
      Array.from({ length: 16 }, (_, index) => [`key ${index}`, 'v'.repeat(256)]),
    );
    const pack = packCheckIns(
      Array.from({ length: 100 }, (_, index) => checkInOf(`${index}`, { labels })),
    );
    let large = 0;
    while ((await second.appendCheckIns(pack)) === 'accepted') large += 1;
    expect(large).toBeGreaterThan(1);
    expect(accepted).toBeGreaterThan(large * 100);
  });

  it('tells its bytes: none when it is empty, again when all was acknowledged in any order', async () => {
    const { engine, second } = nodes();
    expect(await engine.weighCheckIns()).toBe(0);
    expect(await engine.ageOfCheckIns()).toBe(0);
    for (const device of ['a', 'b', 'c', 'd'])
      await engine.appendCheckIns(packCheckIns(batchOf(device)));
    const whole = await second.weighCheckIns();
    expect(await second.countCheckIns()).toBe(4);
    expect(whole).toBeGreaterThan(400);
    const first = await engine.takeCheckIns('taker', 3, 0, NEVER_MS);
    expect(devicesIn(first)).toEqual(['a', 'b', 'c']);
    const ids = idsOf([...first, ...(await engine.takeCheckIns('taker', 3, 0, NEVER_MS))]);
    expect(await second.countCheckIns()).toBe(4);
    // What is between the oldest and the newest may count until the oldest is gone.
    await engine.acknowledgeCheckIns(ids.slice(1, 3));
    expect(await engine.weighCheckIns()).toBeGreaterThan(whole / 4);
    await engine.acknowledgeCheckIns(ids.slice(0, 1));
    expect(await engine.weighCheckIns()).toBe(whole / 4);
    await engine.acknowledgeCheckIns(ids.slice(0, 2));
    expect(await engine.weighCheckIns()).toBe(whole / 4);
    await engine.acknowledgeCheckIns(ids.slice(3));
    expect(await engine.weighCheckIns()).toBe(0);
    await engine.appendCheckIns(packCheckIns(batchOf('e')));
    expect(await engine.weighCheckIns()).toBe(whole / 4);
  });
}

function takingRules(nodes: () => EnginesUnderTest, it: Rule): void {
  it('takers share the work: each batch is taken by exactly one of them', async () => {
    const { engine, second } = nodes();
    const devices = Array.from({ length: 200 }, (_, index) => `device ${index}`);
    for (const device of devices) await engine.appendCheckIns(packCheckIns(batchOf(device)));
    const takeAll = async (node: CheckInQueue, taker: string) => {
      const all: CheckInBatch[] = [];
      for (;;) {
        const batches = await node.takeCheckIns(taker, 3, 0, NEVER_MS);
        if (batches.length === 0) return all;
        all.push(...batches);
      }
    };
    const shares = await Promise.all([takeAll(engine, 'one'), takeAll(second, 'two')]);
    for (const share of shares) expect(share.length).toBeGreaterThan(0);
    const taken = devicesIn(shares.flat());
    expect(taken).toHaveLength(devices.length);
    expect(new Set(taken)).toEqual(new Set(devices));
    // Each taker got its batches in the order of the queue.
    for (const share of shares) {
      const order = devicesIn(share).map((device) => devices.indexOf(device));
      expect(order).toEqual([...order].sort((left, right) => left - right));
    }
  });

  it('an unacknowledged batch is taken over after it was abandoned, not before, and then belongs to the heir', async () => {
    const { engine, second, pass } = nodes();
    await engine.appendCheckIns(packCheckIns(batchOf('a')));
    const taken = await engine.takeCheckIns('dead', 1, 0, 2 * HOUR_MS);
    await pass(HOUR_MS);
    expect(await second.takeCheckIns('heir', 1, 0, 2 * HOUR_MS)).toEqual([]);
    await pass(HOUR_MS);
    expect(await second.takeCheckIns('heir', 1, 0, 2 * HOUR_MS)).toEqual(taken);
    await pass(HOUR_MS);
    expect(await engine.takeCheckIns('third', 1, 0, 2 * HOUR_MS)).toEqual([]);
    // A taker gets what it has in hand again when that counts as abandoned, and not before.
    expect(await second.takeCheckIns('heir', 1, 0, 2 * HOUR_MS)).toEqual([]);
    await pass(HOUR_MS);
    expect(await second.takeCheckIns('heir', 1, 0, 2 * HOUR_MS)).toEqual(taken);
  });

  it('abandoned batches come before new ones, all of them oldest first', async () => {
    const { engine, second, pass } = nodes();
    for (const device of ['a', 'b', 'c'])
      await engine.appendCheckIns(packCheckIns(batchOf(device)));
    // Taken in another order than appended: b and c by one, and a again by another.
    await engine.takeCheckIns('one', 1, 0, NEVER_MS);
    await engine.takeCheckIns('two', 2, 0, NEVER_MS);
    await pass(HOUR_MS);
    await engine.takeCheckIns('three', 1, 0, HOUR_MS);
    for (const device of ['d', 'e']) await engine.appendCheckIns(packCheckIns(batchOf(device)));
    await pass(HOUR_MS);
    const taken = await second.takeCheckIns('heir', 4, 0, HOUR_MS);
    expect(devicesIn(taken)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('one abandoned batch is found among many that are in good hands', async () => {
    const { engine, second, pass } = nodes();
    for (let index = 0; index < 100; index++)
      await engine.appendCheckIns(packCheckIns(batchOf(String(index))));
    await engine.takeCheckIns('busy', 99, 0, 2 * HOUR_MS);
    await engine.takeCheckIns('dead', 1, 0, 2 * HOUR_MS);
    await pass(HOUR_MS);
    // The busy one is alive: it has just taken its batches again.
    await engine.takeCheckIns('busy', 99, 0, HOUR_MS);
    expect(devicesIn(await second.takeCheckIns('heir', 1, 0, HOUR_MS))).toEqual(['99']);
  });

  it('an acknowledged batch is never seen again, whoever had it last', async () => {
    const { engine, second, pass } = nodes();
    for (const device of ['a', 'b', 'c'])
      await engine.appendCheckIns(packCheckIns(batchOf(device)));
    const taken = await engine.takeCheckIns('slow', 2, 0, NEVER_MS);
    await pass(HOUR_MS);
    const takenOver = await second.takeCheckIns('heir', 2, 0, HOUR_MS);
    expect(takenOver).toEqual(taken);
    await engine.acknowledgeCheckIns(idsOf(taken));
    // The second acknowledgement changes nothing.
    await second.acknowledgeCheckIns(idsOf(takenOver));
    await second.acknowledgeCheckIns([]);
    await pass(HOUR_MS);
    expect(devicesIn(await engine.takeCheckIns('third', 10, 0, 0))).toEqual(['c']);
  });

  it('check-ins of every stream are taken, counted and weighed', async () => {
    const { engine, second } = nodes();
    const streams = Array.from({ length: engine.streams }, (_, stream) => stream);
    for (const stream of streams) {
      await engine.appendCheckIns(packCheckIns(batchOf(`of ${stream}`)), stream);
    }
    expect(await second.countCheckIns()).toBe(streams.length);
    expect(await second.weighCheckIns()).toBeGreaterThan(100 * streams.length);
    const [one, rest] = [
      await engine.takeCheckIns('taker', 1, 0, NEVER_MS, [streams.length - 1]),
      await second.takeCheckIns('taker', 100, 0, NEVER_MS),
    ];
    expect(devicesIn(one)).toEqual([`of ${streams.length - 1}`]);
    expect(devicesIn(rest)).toHaveLength(streams.length - 1);
    await engine.acknowledgeCheckIns(idsOf([...one, ...rest]));
    expect(await second.countCheckIns()).toBe(0);
  });
}

function waitingRules(nodes: () => EnginesUnderTest, it: Rule): void {
  it('without a batch it waits as long as asked, and answers none', async () => {
    const { engine } = nodes();
    const events: string[] = [];
    const timer = setTimeout(() => events.push('half of it'), 60);
    expect(await engine.takeCheckIns('taker', 1, 120, NEVER_MS)).toEqual([]);
    clearTimeout(timer);
    expect(events).toEqual(['half of it']);
  });

  it('waiting ends as soon as something comes, for one of those who wait', async () => {
    const { engine, second } = nodes();
    const waits = [
      engine.takeCheckIns('one', 1, NEVER_MS, NEVER_MS),
      second.takeCheckIns('two', 1, NEVER_MS, NEVER_MS),
    ];
    for (const node of [engine, second]) expect(await node.countCheckIns()).toBe(0);
    await engine.appendCheckIns(packCheckIns(batchOf('a')));
    expect(devicesIn(await Promise.race(waits))).toEqual(['a']);
    await second.appendCheckIns(packCheckIns(batchOf('b')));
    expect(devicesIn((await Promise.all(waits)).flat()).sort()).toEqual(['a', 'b']);
  });

  it('waiting ends with what is abandoned meanwhile', async () => {
    const { engine, second } = nodes();
    await engine.appendCheckIns(packCheckIns(batchOf('a')));
    await engine.takeCheckIns('dead', 1, 0, NEVER_MS);
    expect(devicesIn(await second.takeCheckIns('heir', 1, NEVER_MS, 150))).toEqual(['a']);
  });

  it('those who wait hold up nobody, on their node or another', async () => {
    const { engine, second } = nodes();
    const events: string[] = [];
    const note = (event: string) => () => void events.push(event);
    const waits = [1, 2, 3].map((number) =>
      engine.takeCheckIns(`taker ${number}`, 1, NEVER_MS, NEVER_MS).then(note('waited')),
    );
    for (const node of [engine, second]) {
      await node.countRequest('key of those who wait', 100, 1000).then(note('counted'));
      await node.getLabels([{ appId: 'app', deviceId: 'device' }]).then(note('read'));
      await node.countCheckIns().then(note('counted'));
    }
    for (const device of ['a', 'b', 'c'])
      await engine.appendCheckIns(packCheckIns(batchOf(device)));
    await Promise.all(waits);
    expect(events).toEqual([
      ...['counted', 'read', 'counted', 'counted', 'read', 'counted'],
      ...['waited', 'waited', 'waited'],
    ]);
  });
}

function contentRules(nodes: () => EnginesUnderTest, it: Rule): void {
  /** Appends a batch and returns what is taken from the queue. */
  async function roundTrip(batch: readonly CheckIn[]): Promise<readonly CheckIn[]> {
    const { engine, second } = nodes();
    expect(await engine.appendCheckIns(packCheckIns(batch))).toBe('accepted');
    const taken = await second.takeCheckIns('taker', 10, 0, NEVER_MS);
    expect(taken).toHaveLength(1);
    return taken[0]?.checkIns ?? [];
  }

  it('check-ins come out as they went in, in their order, whatever the texts that strangers choose', async () => {
    const facts = [
      checkInOf('a', { version: undefined }),
      checkInOf('b', { offeredReleaseId: 'rel_1' }),
      checkInOf('a', { at: 1 }),
      checkInOf('c', { at: 1_790_000_000_001, source: 'push', channel: 'beta', arch: '' }),
      checkInOf('c', { client: 'tauri', bundle: 'deb' }),
      checkInOf('c', { client: 'tauri', bundle: 'rpm' }),
      checkInOf('d', { appId: 'app_2', version: '', platform: '' }),
      checkInOf('e', { version: undefined, offeredReleaseId: 'rel_1' }),
      checkInOf('f', { network: '203.0.113.7' }),
      checkInOf('g', { network: '2001:db8:ffff:1::/64' }),
      checkInOf('h', { labels: new Map() }),
      checkInOf('i', { labels: new Map([['ring', '']]) }),
    ];
    const texts = HOSTILE_TEXTS.flatMap((text, index) => [
      checkInOf('a', { platform: text, arch: '' }),
      checkInOf('a', { platform: '', arch: text }),
      checkInOf('a', { version: text }),
      // An id is UTF-8, in which there is no half of a surrogate pair.
      checkInOf(text.toWellFormed(), {
        labels: new Map(HOSTILE_TEXTS.slice(index).map((key) => [key, text] as const)),
      }),
    ]);
    // Hundreds of devices with all the labels that are allowed.
    const labels = new Map(
      Array.from({ length: 16 }, (_, index) => [`${index}`.padEnd(128, 'ü'), 'ö'.repeat(256)]),
    );
    const long = Array.from({ length: 500 }, (_, index) => checkInOf(`${index}`, { labels }));
    for (const batch of [facts, [], texts, long]) {
      const taken = await roundTrip(batch);
      expect(taken).toStrictEqual(batch);
      expect(taken.map((each) => [...(each.labels ?? [])])).toEqual(
        batch.map((each) => [...(each.labels ?? [])]),
      );
      await emptyQueue(nodes().engine);
    }
  });
}

/** Removes all batches; returns their devices. */
async function emptyQueue(queue: CheckInQueue): Promise<string[]> {
  const devices: string[] = [];
  for (;;) {
    const batches = await queue.takeCheckIns('sweeper', 500, 0, 0);
    if (batches.length === 0) return devices;
    devices.push(...devicesIn(batches));
    await queue.acknowledgeCheckIns(idsOf(batches));
  }
}

/** Appends batches, numbered from 0, until the queue is full; returns the number of accepted ones. */
async function fill(queue: CheckInQueue): Promise<number> {
  for (let accepted = 0; ; ) {
    const batches = Array.from({ length: 100 }, (_, index) => batchOf(String(accepted + index)));
    const answers = await Promise.all(
      batches.map((batch) => queue.appendCheckIns(packCheckIns(batch))),
    );
    accepted += answers.filter((answer) => answer === 'accepted').length;
    if (answers.includes('full')) return accepted;
  }
}
