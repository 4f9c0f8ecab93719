// Plays a fleet against a service on this machine: asks for each device when its time has come, over a
// connection of its own, and tells it the answer. What goes wrong is counted, and tried again as devices do.

import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { dial } from '../../load/dial.ts';
import { LatencyHistogram } from '../../load/latency-histogram.ts';
import { deviceId, requestText } from '../../load/question.ts';
import { ResponseShapes } from '../../load/response-reader.ts';
import { connectionsMax } from '../../machine/processes.ts';
import { seededRandom } from '../../random.ts';
import { DeviceFleet } from './device-fleet.ts';
import { DeviceDay } from './device-hours.ts';

export type PlayOptions = {
  readonly port: number;
  /** Paths of checks up to the version; a device always asks on the same one. */
  readonly paths: readonly string[];
  readonly devices: number;
  readonly speed: number;
  readonly warmupSeconds: number;
  /** Length of the measured time, and of a day of the fleet, in real seconds. */
  readonly seconds: number;
  /** Number of times that progress is told in the measured time, besides once at its begin. */
  readonly steps: number;
  readonly versions: readonly string[];
  readonly watched: string;
};

export type FleetProgress = ReturnType<Play['progress']>;

type Check = { readonly device: number; readonly since: number; readonly socket: Socket };

const SEED = 5;
const TIMEOUT_MS = 10_000;
const OFFERED = /"version":"([^"]+)"/;

/** Counts since the beginning of the measured time. */
function zero() {
  const errors: Record<string, number> = {};
  const latency = new LatencyHistogram();
  return { asked: 0, answers: 0, offers: 0, retries: 0, lateMs: 0, errors, latency };
}

class Play {
  private readonly options: PlayOptions;
  private readonly fleet: DeviceFleet;
  private readonly day: DeviceDay;
  readonly shapes = new ResponseShapes();
  readonly readBuffer = Buffer.allocUnsafe(65_536);
  private readonly open = new Set<Check>();
  private readonly openMax = connectionsMax();
  private readonly begin = performance.now();
  private counts = zero();
  private isOver = false;

  constructor(options: PlayOptions) {
    const { devices, speed, warmupSeconds, seconds, versions } = options;
    this.options = options;
    this.day = new DeviceDay(seconds * 1000 * speed, warmupSeconds * 1000 * speed);
    this.fleet = new DeviceFleet(devices, this.day, seededRandom(SEED), versions);
    for (let device = 0; device < devices; device++) this.plan(device, this.fleet.firstAsk(device));
  }

  private get now(): number {
    return (performance.now() - this.begin) * this.options.speed;
  }

  endSilent(): void {
    const now = performance.now();
    for (const check of this.open) {
      if (now - check.since > TIMEOUT_MS) this.settle(check, 'timeout');
    }
  }

  clear(): void {
    this.counts = zero();
  }

  /** Ends all connections; the checks on them count neither as answered nor as failed. */
  close(): void {
    this.isOver = true;
    for (const { socket } of this.open) socket.destroy();
    this.open.clear();
  }

  progress() {
    const { counts, fleet, now } = this;
    return {
      /** Latencies are from when a device began to connect until its answer. */
      ...{ ...counts, errors: { ...counts.errors }, latency: [...counts.latency.counts] },
      hour: this.day.hourOf(now),
      awakeShare: fleet.awakeShare(now),
      watchedShare: fleet.shareOn(this.options.watched, now),
    };
  }

  private plan(device: number, at: number): void {
    const dueMs = this.begin + at / this.options.speed;
    const turn = () => {
      if (this.isOver) return;
      this.counts.lateMs = Math.max(this.counts.lateMs, performance.now() - dueMs);
      if (this.open.size >= this.openMax) this.fail(device, 'no descriptor left');
      else this.ask(device);
    };
    setTimeout(turn, Math.max(0, dueMs - performance.now())).unref();
  }

  private ask(device: number): void {
    const { port, paths } = this.options;
    if (this.fleet.isRetrying(device)) this.counts.retries += 1;
    this.counts.asked += 1;
    const path = `${paths[device % paths.length]}/${this.fleet.versionAt(device, this.now)}`;
    let text = '';
    const { socket } = dial({ host: '127.0.0.1', port }, this, {
      onChunk: (chunk, length) => {
        text += chunk.toString('latin1', 0, length);
      },
      onAnswer: (status) => this.take(check, status, text),
      onError: (kind) => this.settle(check, kind),
    });
    const check: Check = { device, since: performance.now(), socket };
    this.open.add(check);
    socket.once('close', () => this.settle(check, 'connection closed'));
    socket.write(requestText(`127.0.0.1:${port}`, path, deviceId(device)), 'latin1');
  }

  private take(check: Check, status: number, text: string): void {
    if (status !== 200 && status !== 204) return this.settle(check, `status ${status}`);
    const offer = status === 200 ? OFFERED.exec(text)?.[1] : undefined;
    if (status === 200 && !offer) return this.settle(check, 'an offer without a version');
    if (!this.open.delete(check)) return;
    check.socket.destroy();
    this.counts.latency.record(performance.now() - check.since);
    this.counts.answers += 1;
    if (offer !== undefined) this.counts.offers += 1;
    this.plan(check.device, this.fleet.answer(check.device, this.now, offer));
  }

  private settle(check: Check, kind: string): void {
    if (!this.open.delete(check)) return;
    check.socket.destroy();
    this.fail(check.device, kind);
  }

  private fail(device: number, kind: string): void {
    const { errors } = this.counts;
    errors[kind] = (errors[kind] ?? 0) + 1;
    this.plan(device, this.fleet.fail(device, this.now));
  }
}

/** Plays the fleet until its time is over, and tells the progress in equal steps of the measured time. */
export async function playFleet(options: PlayOptions, tell: (told: FleetProgress) => void) {
  const { warmupSeconds, seconds, steps } = options;
  const play = new Play(options);
  const begin = performance.now() + warmupSeconds * 1000;
  const watchdog = setInterval(() => play.endSilent(), 1000);
  try {
    for (let step = 0; step <= steps; step++) {
      const at = begin + (seconds * 1000 * step) / steps;
      await sleep(Math.max(0, at - performance.now()));
      if (step === 0) play.clear();
      tell(play.progress());
    }
  } finally {
    clearInterval(watchdog);
    play.close();
  }
}
