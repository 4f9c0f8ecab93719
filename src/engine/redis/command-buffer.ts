// A command with one large argument, written where that argument lies already. The driver would make a new
// buffer for each such command and copy the argument into it; a busy node sends megabytes of them a second,
// and collecting those stops it for milliseconds.

import { Command } from 'ioredis';

/** Room for all of a command but its large argument; a script's text is longer and is sent rarely. */
const HEAD_ROOM = 256;
const LENGTH_AT_FIRST = 4096;
const END = '\r\n';
/** How the protocol writes an argument of no length. */
const EMPTY_ARGUMENT = '$0\r\n\r\n';

/** An argument in a buffer of its own, which is used for one command after the other. */
export class CommandBuffer {
  private buffer = Buffer.allocUnsafe(LENGTH_AT_FIRST);
  private end = HEAD_ROOM;

  /** The place of an argument of so many bytes; whoever asks writes it there. */
  roomFor(byteLength: number): Buffer {
    this.end = HEAD_ROOM + byteLength;
    const needed = this.end + END.length;
    if (this.buffer.length < needed) this.buffer = Buffer.allocUnsafe(needed * 2);
    return this.buffer.subarray(HEAD_ROOM, this.end);
  }

  /** The whole command, with `head` in front of the argument's own length. */
  framed(head: string): Buffer {
    const { buffer, end } = this;
    const whole = `${head}$${end - HEAD_ROOM}${END}`;
    const headBytes = Buffer.byteLength(whole);
    if (headBytes > HEAD_ROOM) {
      return Buffer.concat([Buffer.from(whole), buffer.subarray(HEAD_ROOM, end), Buffer.from(END)]);
    }
    const from = HEAD_ROOM - headBytes;
    buffer.write(whole, from, 'utf8');
    buffer.write(END, end, 'latin1');
    return buffer.subarray(from, end + END.length);
  }
}

/** A command whose last argument lies in a buffer, which must not change until it is answered. */
export class BufferedCommand extends Command {
  private readonly last: CommandBuffer;

  constructor(name: string, args: readonly string[], last: CommandBuffer) {
    // The driver writes the others as it always does, and an empty one in the place of the last.
    super(name, [...args, ''], { replyEncoding: 'utf8' });
    this.last = last;
  }

  override toWritable(socket: object): Buffer {
    const written = String(super.toWritable(socket));
    return this.last.framed(written.slice(0, -EMPTY_ARGUMENT.length));
  }
}
