// A Redis command with one large argument, framed in the buffer that already holds the argument. The driver
// would allocate a new buffer for each such command and copy the argument into it; a busy node sends
// megabytes of check-ins a second, and collecting those buffers would pause it for milliseconds.

import { Command } from 'ioredis';

/**
 * Bytes reserved in front of the argument for the rest of the command. Only EVAL with a script's text is
 * longer, which is rare.
 */
const HEAD_BYTES_RESERVED = 256;
const INITIAL_BYTES = 4096;
const END = '\r\n';
/** Encoding of an empty argument in the Redis protocol. */
const EMPTY_ARGUMENT = '$0\r\n\r\n';

/** Buffer for the large argument, reused for one command after the other. */
export class CommandBuffer {
  private buffer = Buffer.allocUnsafe(INITIAL_BYTES);
  private end = HEAD_BYTES_RESERVED;

  /** Returns the part of the buffer into which the caller writes an argument of this many bytes. */
  roomFor(byteLength: number): Buffer {
    this.end = HEAD_BYTES_RESERVED + byteLength;
    const needed = this.end + END.length;
    if (this.buffer.length < needed) this.buffer = Buffer.allocUnsafe(needed * 2);
    return this.buffer.subarray(HEAD_BYTES_RESERVED, this.end);
  }

  /** Returns the whole command: `head`, then the argument's length, the argument and the line end. */
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

/**
 * Command whose last argument is in a `CommandBuffer`. The buffer must not change until the command is
 * answered.
 */
export class BufferedCommand extends Command {
  private readonly last: CommandBuffer;

  constructor(name: string, args: readonly string[], last: CommandBuffer) {
    // The driver encodes the other arguments as usual, and an empty one that `toWritable` replaces.
    super(name, [...args, ''], { replyEncoding: 'utf8' });
    this.last = last;
  }

  override toWritable(socket: object): Buffer {
    const written = String(super.toWritable(socket));
    return this.last.framed(written.slice(0, -EMPTY_ARGUMENT.length));
  }
}
