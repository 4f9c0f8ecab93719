// What remembers a subject (an address that devices ask by) must not keep superseded catalogs alive: with
// thousands of addresses and a catalog of megabytes, each would hold the revision it was last asked at.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { isFailure } from '../../src/contract/failure.ts';
import type { Catalog } from '../../src/domain/catalog.ts';
import { manifestOf, type UpdateSubject } from '../../src/operations/update-subject.ts';
import { device, release } from '../domain/sample.ts';
import { eventually } from '../support/eventually.ts';
import { ledgerAway } from '../support/fake-ledger.ts';
import {
  channelAt,
  type ServingNode,
  servedRevision,
  servingNode,
  settle,
  subjectOf,
} from './serving-node.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const ROUNDS = 60;
/** Of `Catalogs`. */
const CHANNELS = 10_000;
const DEVICE = { id: undefined, ...device('device-1'), labelsTag: 0 };

/** The node's present catalog, without a reference to it on the caller's stack. */
function weaklyPresent({ catalogs }: ServingNode): WeakRef<Catalog> {
  const catalog = catalogs.peek('acme', 'stable')?.catalog;
  if (catalog === undefined) throw new Error('not loaded');
  return new WeakRef(catalog);
}

async function countAlive(refs: readonly WeakRef<Catalog>[]): Promise<number> {
  await settle();
  collectGarbage();
  return refs.filter((ref) => ref.deref() !== undefined).length;
}

it('subjects asked once each, a publish between any two, keep only the present catalog', async () => {
  const node = servingNode();
  const subjects: UpdateSubject[] = [];
  const catalogs: WeakRef<Catalog>[] = [];
  for (let revision = 1; revision <= ROUNDS; revision++) {
    node.ledger.commit(channelAt(revision));
    await node.catalogs.reload('acme', 'stable');
    const subject = subjectOf(`0.0.${revision}`);
    expect(node.check.now(subject, DEVICE)).toMatchObject({ reason: 'offered' });
    subjects.push(subject);
    catalogs.push(weaklyPresent(node));
  }
  await eventually('old catalogs are collected', async () => (await countAlive(catalogs)) <= 1);
  expect(catalogs.at(-1)?.deref()).toBeDefined();
  for (const subject of subjects) {
    const settled = node.check.now(subject, DEVICE);
    if (settled === undefined || isFailure(settled)) throw new Error('not answered at once');
    expect(manifestOf(settled)?.toString()).toContain(`"version":"1.0.${ROUNDS}"`);
  }
});

it('first offers and chases on the way leave nothing behind either', async () => {
  const node = servingNode();
  const subjects: UpdateSubject[] = [];
  const catalogs: WeakRef<Catalog>[] = [];
  for (let revision = 1; revision <= ROUNDS; revision++) {
    const releases = [release(`1.0.${revision}`, { offered: false })];
    const change = node.ledger.commit(channelAt(revision, 'stable', { releases }));
    node.catalogs.hear(change);
    const subject = subjectOf(`0.0.${revision}`);
    // Half of them are decided from the old catalog, are told that it is stale, and decide again.
    if (revision % 2 === 0) await settle();
    expect(await node.check.later(subject, DEVICE)).toMatchObject({
      reason: 'offered',
    });
    await settle();
    expect(servedRevision(node)).toBe(revision);
    subjects.push(subject);
    catalogs.push(weaklyPresent(node));
  }
  await eventually('old catalogs are collected', async () => (await countAlive(catalogs)) <= 1);
  expect(subjects.every(({ origin }) => origin.slot !== undefined)).toBe(true);
});

it('a subject whose channel was evicted keeps neither its catalog nor its plan', async () => {
  const node = servingNode();
  node.ledger.commit(channelAt(1));
  const subject = subjectOf('0.0.1');
  await node.check.later(subject, DEVICE);
  expect(node.check.now(subject, DEVICE)).toMatchObject({ reason: 'offered' });
  const catalog = weaklyPresent(node);
  await evict(node);
  await eventually('it is collected', async () => (await countAlive([catalog])) === 0);

  expect(subject.origin.slot).toBeDefined();
  node.ledger.fault = undefined;
  expect(node.check.now(subject, DEVICE)).toBeUndefined();
  expect(await node.check.later(subject, DEVICE)).toMatchObject({
    reason: 'offered',
  });
  expect(node.check.now(subject, DEVICE)).toMatchObject({ reason: 'offered' });
});

/** Loads as many other channels as a node can hold. */
async function evict({ catalogs, ledger, lastGood }: ServingNode): Promise<void> {
  ledger.fault = ledgerAway();
  for (let index = 0; index < CHANNELS; index++) {
    const name = `app${index}`;
    const parts = { appId: name, appRef: name, channelId: `chn_${name}` };
    lastGood.keep(channelAt(1, 'stable', parts));
    await catalogs.find(name, 'stable');
  }
}
