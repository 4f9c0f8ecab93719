// Tests packed arguments of scripts: what is written is what a script reads, and a script that is told less
// than it needs does nothing to the keys of which it was not told.

import { describe, expect, it } from 'vitest';
import { CommandBuffer, SCRIPTS, type Script } from '../../../src/store/redis/commands.ts';
import { keys } from '../../support/redis-keys.ts';
import { findRedis } from '../../support/redis-server.ts';
import { HOSTILE_TEXTS } from './fleet-sample.ts';
import { adminOf, redisOf } from './redis-fixture.ts';

const hasRedis = findRedis() !== undefined;
if (!hasRedis) console.log('Skipped: packed arguments in Redis (no redis-server in PATH)');

/** Returns the packed argument as bytes. */
function packed(write: (buffer: CommandBuffer) => void): Buffer {
  const buffer = new CommandBuffer();
  buffer.begin();
  write(buffer);
  const framed = buffer.framed('');
  const head = framed.subarray(0, framed.indexOf('\r\n') + 2);
  return framed.subarray(head.length, -2);
}

describe('a packed argument', () => {
  it('refuses what has no room in it, and grows as far as it must', () => {
    const buffer = new CommandBuffer();
    buffer.begin();
    expect(() => buffer.putCount(65_536)).toThrow(RangeError);
    expect(() => buffer.putText('x'.repeat(65_536))).toThrow(RangeError);
    const texts = Array.from({ length: 1000 }, (_, index) => '🚀'.repeat(index));
    const bytes = packed((made) => {
      for (const text of texts) made.putText(text);
    });
    expect(bytes.length).toBe(texts.reduce((sum, text) => sum + 2 + Buffer.byteLength(text), 0));
    expect(bytes.subarray(2 + 2, 2 + 2 + 4).toString()).toBe('🚀');
  });

  it('holds one command after another, each from its beginning', () => {
    const buffer = new CommandBuffer();
    for (const text of ['first', '2nd']) {
      buffer.begin();
      buffer.putText(text);
      expect(String(buffer.framed('head'))).toBe(
        `head$${text.length + 2}\r\n\0${String.fromCharCode(text.length)}${text}\r\n`,
      );
    }
  });
});

describe.skipIf(!hasRedis)('a script with a packed argument', () => {
  it('reads counts, numbers and any texts as they were written', async () => {
    const admin = adminOf(await redisOf());
    const texts = HOSTILE_TEXTS.concat('\0', 'a\0b', '\r\n$5', 'x'.repeat(65_535));
    const numbers = [0, 1, -1.5, 1_790_000_000_123, 2 ** 53 - 1];
    const bytes = packed((buffer) => {
      buffer.putCount(65_535);
      for (const number of numbers) buffer.putNumber(number);
      for (const text of texts) buffer.putText(text);
    });
    const lua = `
      local count, at = struct.unpack('>I2', ARGV[1])
      local found = {count}
      for _ = 1, ${numbers.length} do
        local number
        number, at = struct.unpack('>d', ARGV[1], at)
        found[#found + 1] = string.format('%.17g', number)
      end
      while at <= #ARGV[1] do
        found[#found + 1], at = struct.unpack('>I2c0', ARGV[1], at)
      end
      return found`;
    const [count, ...rest] = (await admin.eval(lua, 0, bytes)) as [number, ...string[]];
    expect(count).toBe(65_535);
    expect(rest.slice(0, numbers.length).map(Number)).toEqual(numbers);
    expect(rest.slice(numbers.length)).toEqual(texts.map((text) => text.toWellFormed()));
  });

  it('that is cut off fails, and does and tells nothing of what it has not read', async () => {
    const server = await redisOf();
    const admin = adminOf(server);
    const whole: readonly (readonly [Script, readonly string[], readonly string[], Buffer])[] = [
      [
        SCRIPTS.noteLabels,
        [
          keys.labels({ appId: 'app_1', deviceId: 'a' }),
          keys.labels({ appId: 'app_1', deviceId: 'b' }),
        ],
        ['news', '[]'],
        packed((buffer) => {
          for (const value of ['1', '2']) {
            buffer.putNumber(1);
            buffer.putCount(1);
            buffer.putText('ring');
            buffer.putText(value);
          }
        }),
      ],
      [
        SCRIPTS.settleDevices,
        [keys.deviceRate('a'), keys.deviceRate('b')],
        ['120', '60000'],
        packed((buffer) => {
          for (const id of ['p:1', 'p:2']) {
            buffer.putText(id);
            buffer.putCount(1);
            buffer.putText(`${id}-owed`);
            buffer.putNumber(5);
          }
        }),
      ],
    ];
    const heard: string[] = [];
    const listener = adminOf(server);
    listener.on('message', (_channel, message) => heard.push(message));
    await listener.subscribe('news');
    for (const [{ lua }, names, args, bytes] of whole) {
      for (let length = bytes.length / 2; length < bytes.length; length++) {
        await admin.flushall();
        const cut = admin.eval(lua, names.length, ...names, ...args, bytes.subarray(0, length));
        await expect(cut).rejects.toThrow('data string too short');
        expect(await admin.exists(names[0] as string)).toBe(1);
      }
      await admin.eval(lua, names.length, ...names, ...args, bytes);
      expect(await admin.exists(...names)).toBe(2);
    }
    await listener.unsubscribe('news');
    expect(heard).toEqual(['[]']);
  });
});
