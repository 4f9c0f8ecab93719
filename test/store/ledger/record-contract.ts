// Rules of the name of the record (§29.10): a database gets it once, keeps it, and is told by it from others.

import { expect, test } from 'vitest';
import {
  admitDatabase,
  type DatabasePast,
  examineRecord,
  ForeignDatabase,
  knowsSome,
} from '../../../src/store/ledger/database/record-database.ts';
import { KeptReport, TestMemory } from '../../support/ledger-options.ts';
import { createTenant } from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

const EARLIER_NAME = 'rec_earlier';

export function describeRecords({ database, ledger }: LedgerUnderTest): void {
  function admit(memory: Partial<TestMemory> = {}, past: DatabasePast = {}) {
    const remembering = Object.assign(new TestMemory(), memory);
    return admitDatabase(database, remembering, new KeptReport(), past);
  }

  async function named(): Promise<string | null> {
    return (await ledger.readChannelStates(1)).record;
  }

  // First: it needs a database that nobody has used.
  test('a new record gets a name from the first of many nodes', async () => {
    expect(await named()).toBeNull();
    const nodes = await Promise.allSettled(Array.from({ length: 4 }, () => admit()));
    const names = nodes.flatMap((node) => (node.status === 'fulfilled' ? [node.value.record] : []));
    expect([...new Set(names)]).toEqual([await named()]);
    expect(await named()).toMatch(/^rec_[0-9a-z]{26}$/);
  });

  test('it keeps its name, unless an operator takes it away', async () => {
    const first = await named();
    expect((await admit()).record).toBe(first);
    const renamed = database.query("UPDATE ledger_epoch SET record = 'rec_other'");
    await expect(renamed).rejects.toMatchObject({ constraint: 'ledger_record_stays' });
    await database.query('UPDATE ledger_epoch SET record = NULL');
    expect((await admit()).record).not.toBe(first);
  });

  test('it gets the name by which it is remembered, as after the restore of a dump from before', async () => {
    const { channelId } = await (await createTenant(ledger)).stable();
    await database.query('UPDATE ledger_epoch SET record = NULL');
    const { remembered } = new TestMemory().remember(channelId);
    expect((await admit({ remembered, sharedRecord: EARLIER_NAME })).record).toBe(EARLIER_NAME);
    expect((await admit({ ownRecord: EARLIER_NAME })).record).toBe(EARLIER_NAME);
  });

  test('a database of another name is foreign, and left as it is; an engine of another one is not asked', async () => {
    await expect(admit({ ownRecord: 'rec_other' })).rejects.toBeInstanceOf(ForeignDatabase);
    const { remembered } = new TestMemory().remember('chn_of_another');
    const shared = Object.assign(new TestMemory(), { remembered, sharedRecord: 'rec_other' });
    expect(await examineRecord(database, shared)).toMatchObject({ lost: [], isSettled: true });
    const silent = Object.assign(new TestMemory(), { isComplete: false });
    expect(await examineRecord(database, silent)).toMatchObject({ isSettled: false });
  });

  test('it tells its channels from others, however many', async () => {
    const { channelId } = await (await createTenant(ledger)).stable();
    const others = Array.from({ length: 6000 }, (_, index) => ({ channelId: `chn_${index}` }));
    expect(await knowsSome(database, others)).toBe(false);
    expect(await knowsSome(database, [...others, { channelId }])).toBe(true);
    expect(await knowsSome(database, [])).toBe(false);
  });

  test('what starts from a copy that a backup took is on a time line of its own', async () => {
    const { epoch } = await admit();
    expect(await admit({}, { isCopy: true })).toMatchObject({ epoch: epoch + 1 });
    expect(await admit()).toMatchObject({ epoch: epoch + 1 });
  });

  test('two copies of it that came to the same epoch are told apart by their lines', async () => {
    const { identity, epoch } = await admit();
    const { line } = await ledger.readChannelStates(1);
    const copy = { identity: 'a copy on another server', epoch };
    expect(await admit({}, { former: copy })).toMatchObject({ identity, epoch: epoch + 1 });
    // The other nodes that came from the copy find it raised.
    expect(await admit({}, { former: copy })).toMatchObject({ identity, epoch: epoch + 1 });
    const raised = await ledger.readChannelStates(1);
    expect(raised.line).not.toBe(line);
    await ledger.raiseEpoch(epoch);
    expect((await ledger.readChannelStates(1)).line).toBe(raised.line);
  });
}
