// Reads check-ins from the append-only file of a Redis.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckIn } from '../../src/domain/fleet/check-in.ts';
import { parseCheckInPayload } from '../../src/domain/fleet/check-in-payload.ts';
import { streamKeys } from './redis-keys.ts';

const STREAMS = new Set(streamKeys);

/** Every check-in that Redis was ever given, in order, from its append-only file. */
export function acceptedIn(folder: string): CheckIn[] {
  const appended = join(folder, 'appendonlydir');
  // One file in older versions; in newer ones a base, here empty, and its increments.
  const isSplit = readdirSync(folder).includes('appendonlydir');
  const files = isSplit
    ? readdirSync(appended)
        .filter((name) => name.endsWith('.incr.aof'))
        .map((name) => join(appended, name))
    : [join(folder, 'appendonly.aof')];
  return files.sort().flatMap((file) => {
    // XADD key id batch <payload> total <bytes>
    return commandsIn(readFileSync(file)).flatMap(([name, key, , , payload]) => {
      if (String(name).toUpperCase() !== 'XADD' || !STREAMS.has(String(key))) return [];
      const checkIns = parseCheckInPayload(payload ?? Buffer.alloc(0));
      if (checkIns === undefined) throw new Error('a malformed batch was appended');
      return checkIns;
    });
  });
}

/** Reads `*2\r\n$3\r\nGET\r\n$1\r\nk\r\n…`; a last command that was cut off is none. */
function commandsIn(bytes: Buffer): Buffer[][] {
  const commands: Buffer[][] = [];
  let at = 0;
  const readLine = () => {
    const end = bytes.indexOf('\r\n', at);
    if (end === -1) return undefined;
    const line = bytes.toString('latin1', at, end);
    at = end + 2;
    return line;
  };
  for (let head = readLine(); head?.startsWith('*'); head = readLine()) {
    const words: Buffer[] = [];
    const count = Number(head.slice(1));
    while (words.length < count) {
      const length = Number(readLine()?.slice(1) ?? Number.NaN);
      if (!(at + length <= bytes.length)) return commands;
      words.push(bytes.subarray(at, at + length));
      at += length + 2;
    }
    commands.push(words);
  }
  if (at < bytes.length) throw new Error('the append-only file has another form than expected');
  return commands;
}
