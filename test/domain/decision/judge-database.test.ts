// Tests which database is the record, by what a node itself holds and what the engine keeps.

import { describe, expect, it } from 'vitest';
import {
  type DatabaseVerdict,
  type Holding,
  judgeDatabase,
} from '../../../src/domain/decision/ledger-record.ts';

/** Holding of a record with channels, of which the database knows so many. */
function of(record: string | undefined, channelCount = 0, knownCount = 0): Holding {
  return { record, channelCount, knownCount };
}

const NOTHING = of(undefined);
const FULL = { record: 'A', hasChannels: true };
const NEW = { record: undefined, hasChannels: false };
/** Database that got a name, and no channel yet. */
const NAMED = { record: 'A', hasChannels: false };
/** Database of a version that knew no names of records. */
const EARLIER = { record: undefined, hasChannels: true };

type Row = [string, typeof FULL | typeof NEW, Holding, Holding | undefined, boolean];

describe('a database is the record, or not', () => {
  it.each<Row>([
    ['nothing is known', NEW, NOTHING, NOTHING, true],
    ['its name is known', FULL, of('A', 2, 2), of('A', 2, 2), true],
    ['its name is known, and channels of it are gone', FULL, of('A', 2, 0), of('A', 2, 0), true],
    ['the node is of another record', FULL, of('B', 2), of('A', 2, 2), false],
    // Redis is refused rather than the database.
    ['the engine is of another record', FULL, NOTHING, of('B', 2), true],
    ['the engine of an earlier version has other channels', FULL, NOTHING, of(undefined, 2), true],
    ['the node knows it, and the engine is of another record', NAMED, of('A'), of('B', 2), true],
    // Without a channel, it may be an empty one in the place of the record.
    ['it is new, and the engine remembers channels', NEW, NOTHING, of('B', 2), false],
    ['it has no channels, and the engine of another name does', NAMED, NOTHING, of('B', 2), false],
    ['it is new, and the node remembers channels', NEW, of('B', 2), NOTHING, false],
    ['it was emptied, or is half restored', NAMED, of('A', 2), of('A', 2), false],
    // Before there were names, channels told.
    ['the node has a channel of it', EARLIER, of(undefined, 2, 1), NOTHING, true],
    ['the node has other channels', EARLIER, of(undefined, 2), NOTHING, false],
    ['the engine has a channel of it', EARLIER, NOTHING, of(undefined, 2, 1), true],
    ['a dump of another deployment was restored', EARLIER, of('A', 2), of('A', 2), false],
    ['the engine is silent', FULL, NOTHING, undefined, true],
  ])('when %s', (_, database, own, shared, isRecord) => {
    expect(judgeDatabase(database, own, shared).isRecord).toBe(isRecord);
  });

  it.each<[string, Holding, Holding | undefined, Partial<DatabaseVerdict>]>([
    ['of the node', of('A', 2, 1), of('B', 2, 1), { inherited: 'A', isSettled: true }],
    ['of the engine', NOTHING, of('B', 2, 1), { inherited: 'B', isSettled: true }],
    ['of the engine, for a node of before', of(undefined, 1, 1), of('B', 2, 1), { inherited: 'B' }],
    ['of neither', NOTHING, of('B', 2), { inherited: undefined, isSettled: true }],
    ['of nobody who answers', NOTHING, undefined, { inherited: undefined, isSettled: false }],
  ])('one without a name gets that %s', (_, own, shared, verdict) => {
    expect(judgeDatabase(EARLIER, own, shared)).toMatchObject({ isRecord: true, ...verdict });
  });
});
