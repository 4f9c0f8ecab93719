// Fleet of the demo: every device asks for an update about once a minute, and installs what it is offered a
// little later. An hour of a real fleet passes in a minute.

import { setTimeout as sleep } from 'node:timers/promises';
import { type DemoDevice, isDead, refuses } from './demo-devices.ts';
import type { DemoFleet } from './demo-history.ts';

const POLL_MS = 60_000;
const TICK_MS = 250;
/** Milliseconds that stand for an hour of a device's delay before it installs an update. */
const MS_PER_LAG_HOUR = 1000;
const LAG_MS_MAX = 180_000;
const ANSWER_MS_MAX = 10_000;

/**
 * Polls the service until the signal. A request that fails is not repeated: the device's next poll is soon.
 */
export async function runDemoFleet(
  address: string,
  { app, devices }: DemoFleet,
  signal: AbortSignal,
): Promise<void> {
  let next = 0;
  const living = devices.filter((device) => !isDead(device));
  const perTick = Math.ceil((living.length * TICK_MS) / POLL_MS);
  while (!signal.aborted) {
    const asking = Array.from({ length: perTick }, () => living[next++ % living.length]);
    await Promise.all(asking.map((device) => device && poll(address, app, device)));
    await sleep(TICK_MS, undefined, { signal }).catch(() => undefined);
  }
}

async function poll(address: string, app: string, device: DemoDevice): Promise<void> {
  const { id, channel, platform, arch, version, labels } = device;
  const query = new URLSearchParams(
    Object.entries(labels).map(([key, value]): [string, string] => [`l.${key}`, value]),
  );
  const url = `${address}/u/${app}/${channel}/${platform}/${arch}/${version}?${query}`;
  try {
    const signal = AbortSignal.timeout(ANSWER_MS_MAX);
    const response = await fetch(url, { headers: { 'x-service-device': id }, signal });
    const offer =
      response.status === 200 ? ((await response.json()) as { version: string }) : undefined;
    if (offer === undefined || refuses(device, offer.version)) return;
    const lagMs = Math.min(device.lagHours * MS_PER_LAG_HOUR, LAG_MS_MAX);
    setTimeout(() => {
      device.version = offer.version;
    }, lagMs).unref();
  } catch {
    // The service or the demo is stopping.
  }
}
