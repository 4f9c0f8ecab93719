// Plays a fleet against a service on this machine: asks for each device when its time has come, over a
// connection of its own, and tells it the answer. What goes wrong is counted, and tried again as devices do.

import { dial } from '../../load/dial.ts';
import { LatencyHistogram } from '../../load/latency-histogram.ts';
import { deviceId } from '../../load/question.ts';
import { MalformedResponse, ResponseReader, ResponseShapes } from '../../load/response-reader.ts';
import { descriptorsMax } from '../../machine/descriptors-max.ts';
import { seededRandom } from '../../random.ts';
import { Agenda } from './agenda.ts';
import { DeviceDay } from './device-day.ts';
import { DeviceFleet } from './device-fleet.ts';
import { FleetClock } from './fleet-clock.ts';
import { versionMix } from './version-mix.ts';

export type PlayOptions = {
  readonly port: number;
  /** Paths of checks up to the version; a device always asks on the same one. */
  readonly paths: readonly string[];
  readonly devices: number;
  readonly speed: number;
  /** Real time before the measured time, in which the fleet is met. */
  readonly warmupSeconds: number;
  /** Length of the measured time, and of a day of the fleet, in real seconds. */
  readonly seconds: number;
  /** Number of times that progress is told in the measured time, besides once at its begin. */
  readonly steps: number;
  /** Versions that devices run at first, the newest first. */
  readonly versions: readonly string[];
  /** Version whose share of the fleet is told. */
  readonly watched: string;
};

/** Counts since the beginning of the measured time. */
export type FleetProgress = {
  readonly asked: number;
  readonly answers: number;
  /** Answers that offered a release. */
  readonly offers: number;
  readonly retries: number;
  readonly errors: Readonly<Record<string, number>>;
  /** Hour of the fleet's day. */
  readonly hour: number;
  readonly awakeShare: number;
  readonly watchedShare: number;
  /** Counts of a `LatencyHistogram`: from when a device began to connect until its answer. */
  readonly latency: readonly number[];
  /** Longest time in milliseconds by which a device asked later than it should have. */
  readonly lateMs: number;
};

type Check = {
  readonly device: number;
  readonly since: number;
  readonly socket: ReturnType<typeof dial>['socket'];
};

const SEED = 5;
const TICK_MS = 5;
const TIMEOUT_MS = 10_000;
/** Descriptors that are not for connections. */
const RESERVED = 256;
const OFFERED = /"version":"([^"]+)"/;

class Play {
  readonly errors = new Map<string, number>();
  readonly latency = new LatencyHistogram();
  asked = 0;
  answers = 0;
  offers = 0;
  retries = 0;
  lateMs = 0;
  readonly fleet: DeviceFleet;
  readonly day: DeviceDay;
  readonly clock: FleetClock;
  private readonly options: PlayOptions;
  private readonly agenda: Agenda;
  private readonly shapes = new ResponseShapes();
  private readonly readBuffer = Buffer.allocUnsafe(65_536);
  private readonly open = new Set<Check>();
  private readonly openMax = descriptorsMax() - RESERVED;
  private readonly begin = performance.now();

  constructor(options: PlayOptions) {
    const { devices, speed, warmupSeconds, seconds, versions } = options;
    const random = seededRandom(SEED);
    this.options = options;
    this.clock = new FleetClock(speed);
    this.agenda = new Agenda((warmupSeconds + seconds) * 1000);
    this.day = new DeviceDay(
      this.clock.virtualAt(seconds * 1000),
      this.clock.virtualAt(warmupSeconds * 1000),
    );
    const drawVersion = () => versions[versionMix(random(), versions.length)] ?? '';
    this.fleet = new DeviceFleet({ devices, day: this.day, random, drawVersion });
    for (let device = 0; device < devices; device++) {
      this.agenda.plan(device, this.clock.realAt(this.fleet.firstAsk(device)));
    }
  }

  /** Virtual time now. */
  get now(): number {
    return this.clock.virtualAt(performance.now() - this.begin);
  }

  /** Lets the devices ask that are due. */
  turn(): void {
    const now = performance.now() - this.begin;
    for (const { device, dueMs } of this.agenda.take(now)) {
      this.lateMs = Math.max(this.lateMs, now - dueMs);
      if (this.open.size >= this.openMax) this.fail(device, 'no descriptor left');
      else this.ask(device);
    }
  }

  /** Ends the checks that were not answered in time. */
  endSilent(): void {
    const now = performance.now();
    for (const check of this.open) {
      if (now - check.since > TIMEOUT_MS) this.settle(check, 'timeout');
    }
  }

  /** Begins the measured time: forgets all counts. */
  clear(): void {
    this.errors.clear();
    this.latency.clear();
    this.asked = this.answers = this.offers = this.retries = this.lateMs = 0;
  }

  /** Ends all connections; the checks on them count neither as answered nor as failed. */
  close(): void {
    for (const { socket } of this.open) socket.destroy();
    this.open.clear();
  }

  private ask(device: number): void {
    const { port, paths } = this.options;
    if (this.fleet.isRetrying(device)) this.retries += 1;
    this.asked += 1;
    const path = `${paths[device % paths.length]}/${this.fleet.versionAt(device, this.now)}`;
    let text = '';
    let failure: string | undefined;
    const reader = new ResponseReader(this.shapes, (status) => {
      failure = this.take(check, status, text);
    });
    const callback = (length: number, chunk: Buffer) => {
      text += chunk.toString('latin1', 0, length);
      try {
        reader.take(chunk, length);
      } catch (error) {
        if (!(error instanceof MalformedResponse)) throw error;
        failure = `malformed answer: ${error.message}`;
      }
      if (failure !== undefined) this.settle(check, failure);
      return true;
    };
    const { socket } = dial({ host: '127.0.0.1', port }, { buffer: this.readBuffer, callback });
    const check: Check = { device, since: performance.now(), socket };
    this.open.add(check);
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.settle(check, error.code ?? error.message);
    });
    socket.once('close', () => this.settle(check, 'connection closed'));
    const headers = `Host: 127.0.0.1:${port}\r\nX-Service-Device: ${deviceId(device)}\r\n`;
    socket.write(`GET ${path} HTTP/1.1\r\n${headers}\r\n`, 'latin1');
  }

  /** Takes an answer; returns what is wrong with it. */
  private take(check: Check, status: number, text: string): string | undefined {
    if (status !== 200 && status !== 204) return `status ${status}`;
    const offer = status === 200 ? OFFERED.exec(text)?.[1] : undefined;
    if (status === 200 && offer === undefined) return 'an offer without a version';
    if (!this.open.delete(check)) return undefined;
    check.socket.destroy();
    this.latency.record(performance.now() - check.since);
    this.answers += 1;
    if (offer !== undefined) this.offers += 1;
    this.agenda.plan(
      check.device,
      this.clock.realAt(this.fleet.answer(check.device, this.now, offer)),
    );
    return undefined;
  }

  /** Ends a check that failed, unless it has ended already. */
  private settle(check: Check, kind: string): void {
    if (!this.open.delete(check)) return;
    check.socket.destroy();
    this.fail(check.device, kind);
  }

  private fail(device: number, kind: string): void {
    this.errors.set(kind, (this.errors.get(kind) ?? 0) + 1);
    this.agenda.plan(device, this.clock.realAt(this.fleet.fail(device, this.now)));
  }
}

/** Plays the fleet until its time is over, and tells the progress in equal steps of the measured time. */
export async function playFleet(
  options: PlayOptions,
  tell: (progress: FleetProgress) => void,
): Promise<void> {
  const { warmupSeconds, seconds, steps } = options;
  const play = new Play(options);
  const begin = performance.now() + warmupSeconds * 1000;
  const timer = setInterval(() => play.turn(), TICK_MS);
  const watchdog = setInterval(() => play.endSilent(), 1000);
  try {
    for (let step = 0; step <= steps; step++) {
      const at = begin + (seconds * 1000 * step) / steps;
      await new Promise((resolve) => setTimeout(resolve, at - performance.now()));
      if (step === 0) play.clear();
      tell(progressOf(play, options));
    }
  } finally {
    clearInterval(timer);
    clearInterval(watchdog);
    play.close();
  }
}

function progressOf(play: Play, { watched }: PlayOptions): FleetProgress {
  const { asked, answers, offers, retries, lateMs, latency, errors, fleet, now } = play;
  return {
    ...{ asked, answers, offers, retries, lateMs, latency: [...latency.counts] },
    errors: Object.fromEntries(errors),
    hour: play.day.hourOf(now),
    awakeShare: fleet.awakeShare(now),
    watchedShare: fleet.shareOn(watched, now),
  };
}
