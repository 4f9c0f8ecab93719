// Cost of counting a device's request in this process: the limiter's table, beside a plain Map with the two
// counters of an approximate sliding window.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { DeviceWindows, SLOT_BYTES } from '../../../src/device-limit/device-windows.ts';
import { hashText } from '../../../src/domain/decision/cohort.ts';
import { secondHash } from '../../../src/hashing/second-hash.ts';
import { deviceId } from '../../load/question.ts';
import type { Row } from '../../measure/report.ts';
import { median } from '../../measure/statistics.ts';

/** Capacities that the service uses. */
const CAPACITY = 2 ** 20;
const RING_CAPACITY = 2 ** 15;
const WINDOW_MS = 60_000;
/** Time between two requests of a device, which asks six times in a window. */
const GAP_MS = 10_000;

type Counter = { window: number; count: number; before: number };
type Count = (id: string, nowMs: number) => number;

/** Nanoseconds per request and bytes per device, for a small fleet and one of a million. */
export function countDevices(isSmoke: boolean): Row[] {
  const sizes = isSmoke ? [1000] : [1000, 1_000_000];
  return sizes.flatMap((devices) => measureFleet(devices, isSmoke ? 20_000 : 2_000_000));
}

function measureFleet(devices: number, requests: number): Row[] {
  const ids = Array.from({ length: devices }, (_, index) => deviceId(index));
  const table = { ns: [] as number[], megabytes: 0 };
  const map = { ns: [] as number[], megabytes: 0 };
  const rounds = devices > 100_000 ? 1 : 3;
  for (let round = 0; round < rounds; round++) {
    const windows = new DeviceWindows({
      capacity: CAPACITY,
      ringCapacity: RING_CAPACITY,
      isShared: false,
    });
    table.megabytes = windows.byteCount / 2 ** 20;
    table.ns.push(
      time(ids, requests, (id, now) => windows.admit(hashText(id), secondHash(id), now)),
    );
    const before = heapUsed();
    const counters = new Map<string, Counter>();
    map.ns.push(time(ids, requests, (id, now) => countInMap(counters, id, now)));
    map.megabytes = (heapUsed() - before) / 2 ** 20;
    // Used here, so that the map is alive while the memory is read.
    counters.clear();
  }
  const perDevice = (map.megabytes * 2 ** 20) / devices;
  return [
    rowOf('the limiter', devices, median(table.ns), SLOT_BYTES, table.megabytes),
    rowOf('a Map of counters', devices, median(map.ns), perDevice, map.megabytes),
  ];
}

function rowOf(structure: string, devices: number, ns: number, bytes: number, mb: number): Row {
  return {
    structure,
    devices,
    'ns per request': Math.round(ns),
    'bytes per device': Math.round(bytes),
    'MB in all': Math.round(mb),
  };
}

/** Nanoseconds per request of a fleet that asks in an order no cache can foresee. */
function time(ids: readonly string[], requests: number, count: Count): number {
  const gapMs = GAP_MS / ids.length;
  let refused = 0;
  const begin = performance.now();
  for (let index = 0; index < requests; index++) {
    const id = ids[(Math.imul(index, 0x9e37_79b1) >>> 0) % ids.length] ?? '';
    if (count(id, Math.floor(index * gapMs)) > 0) refused += 1;
  }
  const ns = ((performance.now() - begin) * 1e6) / requests;
  if (refused > 0) throw new Error(`${refused} of ${requests} were refused`);
  return ns;
}

function countInMap(counters: Map<string, Counter>, id: string, nowMs: number): number {
  const window = Math.floor(nowMs / WINDOW_MS);
  const known = counters.get(id);
  if (known === undefined) {
    counters.set(id, { window, count: 1, before: 0 });
    return 0;
  }
  if (known.window !== window) {
    known.before = known.window === window - 1 ? known.count : 0;
    known.count = 0;
    known.window = window;
  }
  known.count += 1;
  const weight = 1 - (nowMs % WINDOW_MS) / WINDOW_MS;
  return known.before * weight + known.count > 120 ? 1 : 0;
}

function heapUsed(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}
