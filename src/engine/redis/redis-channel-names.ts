// Names of all channels in Redis, for nodes that start while PostgreSQL is away: one hash, which is rewritten
// as a whole when a channel was created. `ChannelNameStore` states the obligations.

import type { ChannelName, ChannelNameList, ChannelNameStore } from '../../ports/channel-names.ts';
import type { RedisConnection } from './connection.ts';
import { keys } from './keys.ts';
import { parseJson } from './payload.ts';
import { SCRIPTS } from './script.ts';

export function createRedisChannelNames(
  connection: RedisConnection,
  onFault: (error: unknown) => void,
): ChannelNameStore {
  return {
    async putChannelNames(list) {
      // Mostly another node has stored it already.
      if ((await connection.readField(keys.channelNames, 'tag')) === list.tag) return;
      await connection.run(SCRIPTS.putChannelNames, keys.channelNames, list.tag, pack(list));
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

/** Body of a list: the tag, whether it is complete, and for each channel its four names. */
type Packed = readonly [tag: string, isComplete: boolean, channels: readonly PackedName[]];
type PackedName = readonly [appId: string, appRef: string, channelId: string, channel: string];

function pack({ tag, isComplete, channels }: ChannelNameList): string {
  const names = channels.map(
    ({ appId, appRef, channelId, channel }): PackedName => [appId, appRef, channelId, channel],
  );
  const packed: Packed = [tag, isComplete, names];
  return JSON.stringify(packed);
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
