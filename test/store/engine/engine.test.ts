// Runs the engine contract on every implementation: whole on memory and on Redis; on Redis Cluster the rules
// that a cluster can change, or whole with SLUICE_MATRIX=all.

import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { createMemoryEngine } from '../../../src/store/memory/memory-engine.ts';
import { CHECK_IN_STREAMS } from '../../../src/store/redis/redis-check-ins.ts';
import { createRedisEngine } from '../../../src/store/redis/redis-engine.ts';
import { eventually } from '../../support/eventually.ts';
import { IS_WHOLE_MATRIX } from '../../support/matrix.ts';
import { findRedisCli, startRedisCluster } from '../../support/redis-cluster.ts';
import { findRedis, startRedis } from '../../support/redis-server.ts';
import { actionRules } from './action-contract.ts';
import { channelNameRules } from './channel-names-contract.ts';
import { checkInRules } from './check-in-contract.ts';
import { announcementRules, closingRules } from './engine-contract.ts';
import {
  ANSWER_MS_MAX,
  type EnginesUnderTest,
  passTimeOn,
  type Rule,
} from './engines-under-test.ts';
import { labelRules } from './label-contract.ts';
import { rateRules } from './rate-contract.ts';
import { snapshotRules } from './snapshot-contract.ts';

/** Few enough that a test fills it, and more than any other test appends. */
const CHECK_IN_BYTES_MAX = 2 ** 20;

/** What a cluster can change: where keys lie, in how many calls they are reached, and who hears what. */
const ON_CLUSTER: Readonly<Record<string, readonly string[]>> = {
  'all keys of a script are in one slot': [
    'a channel of 3,000 releases is stored and read whole, change after change',
    'channels and apps do not touch each other',
    'keys do not touch each other, whatever they are made of',
    'what is forgotten begins anew, on every node, and nothing else does',
    'the list is read back whole by every node, until another one is stored',
    'the position in the changes is unknown at first, and moved by whoever knows where it is',
    'device ids and labels may be any text, and no two devices are one',
  ],
  'one call is for keys of many nodes': [
    'of 100 devices in one call each owes its own requests, none or many',
    'of 500 devices in one call each has its own notes, empty, long, of any number and any text',
    'answers come in the order asked, for 500 devices in one call, known and unknown',
    'what is dropped is remembered by nobody, and can be put again at any revision',
    'what one node notes every node reads, the newest of each key, until it is settled',
    'what is noted is settled also by an entry that is not the newest, and confirms nothing',
    'a device has at most 32 notes, the newest ones',
  ],
  'the streams are on several nodes': [
    'an accepted batch reaches whoever takes check-ins, on any node',
    'check-ins of every stream are taken, counted and weighed',
    'an acknowledged batch is never seen again, whoever had it last',
  ],
  'messages reach the listeners of every node': [
    "every node hears a channel's announcements, its own too, once each and in order",
    'notifications of changed labels reach the listeners of every node, the one that tells included',
  ],
  'a client of a cluster ends': [
    'after closing, twice, every call is refused as unavailable and nothing is heard',
  ],
};

type Store = { readonly url: string; stop(): Promise<void> };

/** Declares the contract, or the rules of these titles. */
function contract(
  name: string,
  missingProgram: string | undefined,
  make: () => Promise<EnginesUnderTest>,
  only?: readonly string[],
) {
  if (missingProgram) console.log(`Skipped: engine contract on ${name} (no ${missingProgram})`);
  describe.skipIf(missingProgram !== undefined)(`engine contract: ${name}`, () => {
    const missing = new Set(only);
    const rule: Rule = (title, body) => {
      if (only !== undefined && !missing.delete(title)) return;
      it(title, async () => {
        // A busy machine can make a call fail; the calls of later tests shall not fail with it.
        await connected(made);
        await body();
      });
    };
    let made: EnginesUnderTest;
    beforeAll(async () => {
      made = await make();
    });
    afterAll(() => made?.dispose());
    const nodes = () => made;
    for (const rules of [
      // Closing comes before check-ins: its takers must have nothing to take.
      ...[snapshotRules, announcementRules, rateRules, channelNameRules, closingRules],
      ...[checkInRules, labelRules, actionRules],
    ]) {
      rules(nodes, rule);
    }
    if (missing.size > 0) throw new Error(`No such rules: ${[...missing].join('; ')}`);
  });
}

const noRedis = findRedis() === undefined ? 'redis-server in PATH' : undefined;
const noCli = findRedisCli() === undefined ? 'redis-cli in PATH' : undefined;
const onCluster = IS_WHOLE_MATRIX ? undefined : Object.values(ON_CLUSTER).flat();
contract('memory', undefined, async () => makeMemory());
contract('Redis', noRedis, () => connectTwo(startRedis()));
contract('Redis Cluster', noRedis ?? noCli, () => connectTwo(startRedisCluster()), onCluster);

function makeMemory(): EnginesUnderTest {
  let passedMs = 0;
  const now = () => performance.now() + passedMs;
  const engine = createMemoryEngine({ now, checkInBytesMax: CHECK_IN_BYTES_MAX });
  return {
    engine,
    second: engine,
    async pass(ms) {
      passedMs += ms;
    },
    more: async () => makeMemory(),
    dispose: () => engine.close(),
  };
}

/** Starts a store for two engines alone: the queue of check-ins has no name that tells users apart. */
async function connectTwo(starting: Promise<Store>): Promise<EnginesUnderTest> {
  const store = await starting;
  const nodes = await connectMore(store.url);
  return {
    ...nodes,
    async dispose() {
      await nodes.dispose();
      await store.stop();
    },
  };
}

async function connectMore(url: string): Promise<EnginesUnderTest> {
  const [engine, second] = [connect(url), connect(url)];
  const servers = url.split(',').map((each) => new Redis(each));
  await connected({ engine, second });
  return {
    engine,
    second,
    async pass(ms) {
      await Promise.all(servers.map((server) => passTimeOn(server, ms)));
    },
    more: () => connectMore(url),
    async dispose() {
      for (const server of servers) server.disconnect();
      await engine.close();
      await second.close();
    },
  };
}

function connected({ engine, second }: Pick<EnginesUnderTest, 'engine' | 'second'>): Promise<void> {
  return eventually('both engines are connected', async () => {
    const answers = await Promise.all([engine.isReachable(), second.isReachable()]);
    return answers.every(Boolean);
  });
}

function connect(url: string) {
  return createRedisEngine({
    url,
    prefix: 'sluice',
    // Each of its streams has a share of the bound.
    checkInBytesMax: CHECK_IN_BYTES_MAX * CHECK_IN_STREAMS,
    answerMsMax: ANSWER_MS_MAX,
    onFault: () => {},
  });
}
