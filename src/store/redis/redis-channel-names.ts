// Names of all channels in Redis, for nodes that start while PostgreSQL is away: one hash, which is rewritten
// as a whole when a channel was created. `ChannelNameStore` states the obligations.

import { parseJson } from '../../domain/fleet/check-in-payload.ts';
import type {
  ChannelName,
  ChannelNameList,
  ChannelNameStore,
  SharedRecord,
} from '../channel-names.ts';
import type { RedisConnection } from './connection.ts';
import type { Keys } from './keys.ts';
import { SCRIPTS } from './script.ts';

export function createRedisChannelNames(
  connection: RedisConnection,
  keys: Keys,
  onFault: (error: unknown) => void,
): Omit<ChannelNameStore, 'readShared'> {
  return {
    async putChannelNames(list) {
      // Mostly another node has stored it already.
      if ((await connection.readField(keys.channelNames, 'tag')) === list.tag) return;
      const body = await pack(list);
      await connection.run(SCRIPTS.putChannelNames, keys.channelNames, list.tag, body);
    },

    async getChannelNames(heldTag) {
      const tag = await connection.readField(keys.channelNames, 'tag');
      if (tag === null || tag === heldTag) return undefined;
      const body = await connection.readField(keys.channelNames, 'body');
      if (body === null) return undefined;
      const list = unpack(body);
      if (list === undefined) onFault(new Error('ignored malformed names of channels'));
      return list;
    },
  };
}

/** Reads what a Redis tells of the record that it belongs to. */
export async function readShared(
  connection: Pick<RedisConnection, 'readField'>,
  keys: Keys,
  names: Pick<ChannelNameStore, 'getChannelNames'>,
  heldTag: string | undefined,
): Promise<SharedRecord> {
  const [record, tag, list] = await Promise.all([
    connection.readField(keys.record, 'name'),
    connection.readField(keys.channelNames, 'tag'),
    names.getChannelNames(heldTag),
  ]);
  return { record: record ?? undefined, tag: tag ?? undefined, list };
}

/** Number of names that are packed at a time: a few milliseconds. */
const NAMES_PER_TURN = 2000;

type PackedName = readonly [appId: string, appRef: string, channelId: string, channel: string];

/** Writes the body of a list: JSON of the tag, whether it is complete, and each channel's four names. */
async function pack({ tag, isComplete, channels }: ChannelNameList): Promise<string> {
  const parts: string[] = [];
  for (let start = 0; start < channels.length; start += NAMES_PER_TURN) {
    const names = channels
      .slice(start, start + NAMES_PER_TURN)
      .map(({ appId, appRef, channelId, channel }) => [appId, appRef, channelId, channel]);
    parts.push(JSON.stringify(names).slice(1, -1));
    // Other work of the process goes on between the parts of a long list.
    await nextTurn();
  }
  return `[${JSON.stringify(tag)},${isComplete},[${parts.join()}]]`;
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Returns undefined for a body that another program may have written. */
function unpack(body: string): ChannelNameList | undefined {
  const packed = parseJson(body);
  if (!Array.isArray(packed)) return undefined;
  const [tag, isComplete, names]: unknown[] = packed;
  if (typeof tag !== 'string' || typeof isComplete !== 'boolean' || !Array.isArray(names)) {
    return undefined;
  }
  const channels: ChannelName[] = [];
  for (const name of names) {
    if (!isPackedName(name)) return undefined;
    const [appId, appRef, channelId, channel] = name;
    channels.push({ appId, appRef, channelId, channel });
  }
  return { tag, isComplete, channels };
}

function isPackedName(value: unknown): value is PackedName {
  return (
    Array.isArray(value) && value.length === 4 && value.every((text) => typeof text === 'string')
  );
}
