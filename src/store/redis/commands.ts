// Framing of commands and the Lua scripts. The driver copies a large argument into a new buffer for each
// command, so the command is framed in the buffer that already holds the argument.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Command } from 'ioredis';

/** Bytes reserved before the argument for the rest of the command; only an EVAL needs more. */
const HEAD_BYTES_RESERVED = 256;
const INITIAL_BYTES = 4096;
const END = '\r\n';
/** Empty argument in the Redis protocol. */
const EMPTY_ARGUMENT = '$0\r\n\r\n';
/** Bytes of a count and of a length in a packed argument, and the greatest of each. */
const COUNT_BYTES = 2;
const COUNT_MAX = 0xffff;
const NUMBER_BYTES = 8;
/** Maximum number of UTF-8 bytes for one UTF-16 code unit. */
const UTF8_BYTES_MAX = 3;

/**
 * Buffer for one large argument; reused for one command after another. The argument is written as a whole
 * into `roomFor`; or packed piece by piece after `begin`, so that a script reads it with `struct.unpack`.
 */
export class CommandBuffer {
  private buffer = Buffer.allocUnsafe(INITIAL_BYTES);
  private end = HEAD_BYTES_RESERVED;

  /** Returns the part of the buffer for an argument of this length. */
  roomFor(byteLength: number): Buffer {
    this.end = HEAD_BYTES_RESERVED + byteLength;
    const needed = this.end + END.length;
    if (this.buffer.length < needed) this.buffer = Buffer.allocUnsafe(needed * 2);
    return this.buffer.subarray(HEAD_BYTES_RESERVED, this.end);
  }

  /** Begins a packed argument. */
  begin(): void {
    this.end = HEAD_BYTES_RESERVED;
  }

  /** Appends a whole number of at most 65,535: `>I2`. Throws for a greater one. */
  putCount(count: number): void {
    if (count > COUNT_MAX) throw new RangeError(`${count} does not fit in two bytes`);
    this.reserve(COUNT_BYTES);
    this.end = this.buffer.writeUInt16BE(count, this.end);
  }

  /** Appends a number: `>d`. */
  putNumber(number: number): void {
    this.reserve(NUMBER_BYTES);
    this.end = this.buffer.writeDoubleBE(number, this.end);
  }

  /** Appends a text of at most 65,535 bytes, in UTF-8: `>I2c0`. Throws for a longer one. */
  putText(text: string): void {
    this.reserve(COUNT_BYTES + text.length * UTF8_BYTES_MAX);
    const from = this.end + COUNT_BYTES;
    const byteLength = this.buffer.write(text, from, 'utf8');
    this.putCount(byteLength);
    this.end = from + byteLength;
  }

  /** Makes room for so many more bytes of a packed argument, and for its line end. */
  private reserve(byteLength: number): void {
    const needed = this.end + byteLength + END.length;
    if (this.buffer.length >= needed) return;
    const grown = Buffer.allocUnsafe(needed * 2);
    this.buffer.copy(grown, 0, 0, this.end);
    this.buffer = grown;
  }

  /** Returns the command: `head`, then the argument's length, the argument and a line end. */
  framed(head: string): Buffer {
    const { buffer, end } = this;
    const whole = `${head}$${end - HEAD_BYTES_RESERVED}${END}`;
    const headBytes = Buffer.byteLength(whole);
    if (headBytes > HEAD_BYTES_RESERVED) {
      return Buffer.concat([
        Buffer.from(whole),
        buffer.subarray(HEAD_BYTES_RESERVED, end),
        Buffer.from(END),
      ]);
    }
    const from = HEAD_BYTES_RESERVED - headBytes;
    buffer.write(whole, from, 'utf8');
    buffer.write(END, end, 'latin1');
    return buffer.subarray(from, end + END.length);
  }
}

/** Command with its last argument in a `CommandBuffer`, which must not change before the answer. */
export class BufferedCommand extends Command {
  private readonly last: CommandBuffer;

  constructor(name: string, args: readonly string[], last: CommandBuffer) {
    // The driver encodes an empty last argument, which `toWritable` replaces.
    super(name, [...args, ''], { replyEncoding: 'utf8' });
    this.last = last;
  }

  override toWritable(socket: object): Buffer {
    const written = String(super.toWritable(socket));
    return this.last.framed(written.slice(0, -EMPTY_ARGUMENT.length));
  }
}

/** Data type of a value in Redis. */
export type KeyType = 'string' | 'list' | 'hash' | 'zset' | 'stream';

export type Script = {
  readonly lua: string;
  /** Hash under which Redis caches the script. */
  readonly sha1: string;
  /** Type of the values at its keys; undefined for any type. */
  readonly type: KeyType | undefined;
};

export const SCRIPTS = {
  putSnapshot: load('snapshot/put-snapshot', 'hash'),
  putChannelNames: load('snapshot/put-channel-names', 'hash'),
  claimField: load('snapshot/claim-field', 'hash'),
  announce: load('snapshot/announce'),
  countRequest: load('rate/count-request', 'list'),
  forgetRequests: load('rate/forget-requests'),
  settleDevices: load('rate/settle-devices', 'zset'),
  getLabels: loadForDevice('label/get-labels'),
  putLabels: loadForDevice('label/put-labels'),
  dropLabels: loadForDevice('label/drop-labels'),
  noteLabels: loadForDevice('label/note-labels'),
  readPosition: load('label/read-label-position', 'hash'),
  movePosition: load('label/move-label-position', 'hash'),
  getActions: loadForDevice('action/get-actions'),
  putActions: loadForDevice('action/put-actions'),
  changeActions: loadForDevice('action/change-actions'),
  noteStoredActions: loadForDevice('action/note-stored'),
  dropActions: loadForDevice('action/drop-actions'),
  appendCheckIns: load('check-in/append-check-ins', 'stream'),
  takeCheckIns: load('check-in/take-check-ins', 'stream'),
  shareCheckIns: load('check-in/share-check-ins', 'zset'),
  leaveCheckIns: load('check-in/leave-check-ins', 'zset'),
  acknowledgeCheckIns: load('check-in/acknowledge-check-ins', 'stream'),
  countCheckIns: load('check-in/count-check-ins', 'stream'),
  measureCheckIns: load('check-in/measure-check-ins', 'stream'),
  removeWrongTypes: load('snapshot/remove-wrong-types'),
  tryWrite: load('snapshot/try-write', 'list'),
} as const;

function load(name: string, type?: KeyType): Script {
  return scriptOf(luaOf(name), type);
}

/** Loads a script whose keys are hashes of devices. */
function loadForDevice(name: string): Script {
  return scriptOf(luaOf('device-hash') + luaOf(name), 'hash');
}

function luaOf(name: string): string {
  return readFileSync(new URL(`./script/${name}.lua`, import.meta.url), 'utf8');
}

function scriptOf(lua: string, type: KeyType | undefined): Script {
  return { lua, sha1: createHash('sha1').update(lua).digest('hex'), type };
}

// Restores the speed of string methods after ioredis was loaded. A class in ioredis extends String, after
// which V8 keeps `String.prototype` in its slow form, a hash table, until code reads a property of an object
// that inherits from it. Ordinary code never does, and reading a device id takes 367 ns instead of 55.

/** Number of reads that V8's inline cache needs at most. */
const READS = 1000;

/** Makes V8 turn `String.prototype` into its fast form. Once per process is enough. */
export function restoreStringSpeed(): void {
  // Reading a property from a wrapper object calls V8's `JSObject::MakePrototypesFast`.
  const text = Object('');
  for (let read = 0; read < READS; read++) text.charCodeAt(0);
}
