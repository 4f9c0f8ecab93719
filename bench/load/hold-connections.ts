// Holds many connections open, each of which asks now and then, as devices and proxies do that keep theirs.
// Latencies count from when a request left. A connection that ends is counted, and stays away.

import { connect, type Socket } from 'node:net';
import { type CpuSample, sampleCpu } from '../machine/cpu-account.ts';
import { readIfThere } from '../machine/process-table.ts';
import { seededRandom } from '../random.ts';
import { LatencyHistogram } from './latency-histogram.ts';
import { nthRequest, type Question } from './question.ts';
import { MalformedResponse, ResponseReader, ResponseShapes } from './response-reader.ts';

export type HoldOptions = {
  readonly port: number;
  /** Process that serves, whose CPU and memory are read. */
  readonly servicePid: number;
  /** Each connection asks for the device of its own number. */
  readonly question: Question;
  readonly connections: number;
  /** Status that every answer must have. */
  readonly expected: number;
  /** Shortest and longest time between two requests of a connection. */
  readonly gapMs: readonly [number, number];
  /** Length of the measured time, after all connections are open and have asked once. */
  readonly seconds: number;
};

export type HoldResult = {
  readonly open: number;
  readonly answers: number;
  readonly errors: Readonly<Record<string, number>>;
  readonly latency: readonly number[];
  readonly seconds: number;
  /** Resident memory of the service before the connections, and at the end of the measured time. */
  readonly residentBytes: { readonly before: number; readonly after: number };
  readonly cpu: { readonly begin: CpuSample; readonly end: CpuSample };
};

/** Connections to one address from one source address: far fewer than a system has ports for. */
const PER_SOURCE = 8000;
const OPENED_AT_ONCE = 100;
const OPENING_MS_MAX = 30_000;
const TICK_MS = 4;
const SEED = 8;

type Held = { readonly socket: Socket; readonly request: Buffer; since: number };

class Hold {
  readonly latency = new LatencyHistogram();
  readonly errors = new Map<string, number>();
  answers = 0;
  open = 0;
  isOver = false;
  private readonly options: HoldOptions;
  private readonly random = seededRandom(SEED);
  private readonly shapes = new ResponseShapes();
  private readonly readBuffer = Buffer.allocUnsafe(65_536);
  private readonly all: Held[] = [];
  /** Requests by the tick at which they leave: a wheel that turns once in the longest gap. */
  private readonly wheel: Held[][];
  private tick = 0;

  constructor(options: HoldOptions) {
    this.options = options;
    this.wheel = Array.from({ length: Math.ceil(options.gapMs[1] / TICK_MS) + 1 }, () => []);
  }

  /** Opens connection number `index`; resolves when it is open or has failed. */
  connect(index: number): Promise<void> {
    const { port, question } = this.options;
    const { path, headers } = nthRequest(question, index);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const text = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${lines.join('')}\r\n`;
    const reader = new ResponseReader(this.shapes, (status) => this.note(held, status));
    const callback = (length: number, chunk: Uint8Array) => {
      return this.take(reader, chunk as Buffer, length, held.socket);
    };
    const localAddress = `127.0.0.${1 + Math.floor(index / PER_SOURCE)}`;
    const onread = { buffer: this.readBuffer, callback };
    const socket = connect({ host: '127.0.0.1', port, localAddress, noDelay: true, onread });
    const held: Held = { socket, request: Buffer.from(text, 'latin1'), since: 0 };
    this.all.push(held);
    return new Promise((resolve) => {
      socket.once('connect', () => {
        this.open += 1;
        socket.once('close', () => this.lose());
        // First requests are spread over the longest gap, as those of devices that came at different times.
        this.plan(held, this.random() * this.options.gapMs[1]);
        resolve();
      });
      socket.once('error', (error: NodeJS.ErrnoException) => {
        this.fail(error.code ?? error.message);
        resolve();
      });
    });
  }

  /** Sends what is due. Ticks that the system skipped are made up for. */
  turn(begin: number): void {
    const now = performance.now();
    for (const due = Math.floor((now - begin) / TICK_MS); this.tick < due; this.tick++) {
      const slot = this.tick % this.wheel.length;
      const waiting = this.wheel[slot] ?? [];
      this.wheel[slot] = [];
      for (const held of waiting) {
        if (held.socket.readyState !== 'open') continue;
        held.since = performance.now();
        held.socket.write(held.request);
      }
    }
  }

  /** Begins the measured time; errors so far stay. */
  clear(): void {
    this.latency.clear();
    this.answers = 0;
  }

  close(): void {
    this.isOver = true;
    for (const { socket } of this.all) socket.destroy();
  }

  fail(kind: string): void {
    if (!this.isOver) this.errors.set(kind, (this.errors.get(kind) ?? 0) + 1);
  }

  /** Number of connections whose request has waited for its answer for longer than the longest gap. */
  silent(now: number): number {
    const [, longest] = this.options.gapMs;
    return this.all.filter(({ since }) => since > 0 && now - since > longest).length;
  }

  private plan(held: Held, ms: number): void {
    const ticks = Math.max(1, Math.floor(ms / TICK_MS));
    this.wheel[(this.tick + ticks) % this.wheel.length]?.push(held);
  }

  private note(held: Held, status: number): void {
    this.latency.record(performance.now() - held.since);
    held.since = 0;
    this.answers += 1;
    if (status !== this.options.expected) this.fail(`status ${status}`);
    const [shortest, longest] = this.options.gapMs;
    this.plan(held, shortest + this.random() * (longest - shortest));
  }

  private take(reader: ResponseReader, chunk: Buffer, length: number, socket: Socket): boolean {
    try {
      reader.take(chunk, length);
    } catch (error) {
      if (!(error instanceof MalformedResponse)) throw error;
      this.fail(`malformed answer: ${error.message}`);
      socket.destroy();
    }
    return true;
  }

  private lose(): void {
    this.open -= 1;
    this.fail('connection closed');
  }
}

/** Opens the connections, holds them for the time, and reports. Errors of the server never reject. */
export async function holdConnections(options: HoldOptions): Promise<HoldResult> {
  const { connections, servicePid, gapMs, seconds } = options;
  const hold = new Hold(options);
  const before = residentBytes(servicePid);
  const start = performance.now();
  const timer = setInterval(() => hold.turn(start), TICK_MS);
  for (let index = 0; index < connections; index += OPENED_AT_ONCE) {
    const count = Math.min(OPENED_AT_ONCE, connections - index);
    await Promise.all(Array.from({ length: count }, (_, offset) => hold.connect(index + offset)));
    if (performance.now() - start > OPENING_MS_MAX) break;
  }
  await sleep(gapMs[1]);
  hold.clear();
  const begin = sampleCpu(servicePid);
  await sleep(seconds * 1000);
  const end = sampleCpu(servicePid);
  const after = residentBytes(servicePid);
  for (let left = hold.silent(end.at); left > 0; left--) hold.fail('no answer');
  const { open, answers, latency } = hold;
  const errors = Object.fromEntries(hold.errors);
  clearInterval(timer);
  hold.close();
  return {
    ...{ open, answers, errors, latency: [...latency.counts], cpu: { begin, end } },
    ...{ seconds: (end.at - begin.at) / 1000, residentBytes: { before, after } },
  };
}

/** Resident memory of a process; NaN where the system does not tell. */
function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readIfThere(`/proc/${pid}/status`) ?? '')?.[1];
  return Number(kilobytes ?? Number.NaN) * 1024;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
