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

/** Buffer for one large argument; reused for one command after another. */
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
  putSnapshot: load('put-snapshot', 'hash'),
  putChannelNames: load('put-channel-names', 'hash'),
  claimField: load('claim-field', 'hash'),
  announce: load('announce'),
  countRequest: load('count-request', 'list'),
  forgetRequests: load('forget-requests'),
  settleDevices: load('settle-devices', 'zset'),
  getLabels: load('get-labels', 'hash'),
  putLabels: load('put-labels', 'hash'),
  dropLabels: load('drop-labels'),
  noteLabels: load('note-labels', 'hash'),
  readLabelPosition: load('read-label-position', 'hash'),
  moveLabelPosition: load('move-label-position', 'hash'),
  appendCheckIns: load('append-check-ins', 'stream'),
  takeCheckIns: load('take-check-ins', 'stream'),
  shareCheckIns: load('share-check-ins', 'zset'),
  leaveCheckIns: load('leave-check-ins', 'zset'),
  acknowledgeCheckIns: load('acknowledge-check-ins', 'stream'),
  countCheckIns: load('count-check-ins', 'stream'),
  measureCheckIns: load('measure-check-ins', 'stream'),
  removeWrongTypes: load('remove-wrong-types'),
  tryWrite: load('try-write', 'list'),
} as const;

function load(name: string, type?: KeyType): Script {
  const lua = readFileSync(new URL(`./script/${name}.lua`, import.meta.url), 'utf8');
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
