// Request and response as a build sees those of uWebSockets.js. One class of each for both builds: they cost
// the same on both sides.

export const DEVICE_HEADER = 'x-service-device';

/** Tally of what builds wrote, and of their calls into the server. */
export class Tally {
  answers = 0;
  calls = 0;
  /** Answers as text, while they are recorded. */
  texts: string[] | undefined;
}

export const tally = new Tally();

export class StubRequest {
  path = '';
  query: string | undefined;
  device = '';

  getMethod(): string {
    tally.calls += 1;
    return 'get';
  }

  getUrl(): string {
    tally.calls += 1;
    return this.path;
  }

  /** Returns the query, as no build asks for a parameter of it on the way of a check. */
  getQuery(): string | undefined {
    tally.calls += 1;
    return this.query;
  }

  getHeader(name: string): string {
    tally.calls += 1;
    return name === DEVICE_HEADER ? this.device : '';
  }

  forEach(tell: (name: string, value: string) => void): void {
    tally.calls += 1;
    tell(DEVICE_HEADER, this.device);
  }

  setYield(): this {
    tally.calls += 1;
    return this;
  }
}

const CLIENT_ADDRESS = new TextEncoder().encode('198.51.100.7').buffer;
const TAKEN: [boolean, boolean] = [true, true];

export class StubResponse {
  private place = 0;

  /** Begins the answer, which counts from here: some are left for their client to end. */
  writeStatus(text: string): this {
    tally.calls += 1;
    tally.answers += 1;
    if (tally.texts !== undefined) this.place = tally.texts.push(text) - 1;
    return this;
  }

  writeHeader(name: string, value: string): this {
    tally.calls += 1;
    if (tally.texts !== undefined) this.record(`\n${name}: ${value}`);
    return this;
  }

  end(body: string | Uint8Array = ''): this {
    tally.calls += 1;
    if (tally.texts !== undefined) this.record(`\n\n${textOf(body)}`);
    return this;
  }

  endWithoutBody(): this {
    return this.end();
  }

  tryEnd(chunk: Uint8Array): [boolean, boolean] {
    this.end(chunk);
    return TAKEN;
  }

  write(): boolean {
    tally.calls += 1;
    return true;
  }

  cork(write: () => void): this {
    tally.calls += 1;
    write();
    return this;
  }

  close(): this {
    tally.calls += 1;
    return this;
  }

  onAborted(): this {
    tally.calls += 1;
    return this;
  }

  onWritable(): this {
    tally.calls += 1;
    return this;
  }

  getBufferedAmount(): number {
    tally.calls += 1;
    return 0;
  }

  getWriteOffset(): number {
    tally.calls += 1;
    return 0;
  }

  getRemoteAddressAsText(): ArrayBuffer {
    tally.calls += 1;
    return CLIENT_ADDRESS;
  }

  private record(text: string): void {
    if (tally.texts !== undefined) tally.texts[this.place] += text;
  }
}

function textOf(body: string | Uint8Array): string {
  return typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
}
