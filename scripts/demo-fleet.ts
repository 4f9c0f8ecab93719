// Fleet of the demo: every device asks for an update about once a minute, and installs what it is offered a
// little later. An hour of a real fleet passes in a minute.

import { setTimeout as sleep } from 'node:timers/promises';
import { type DemoDevice, isDead, refuses } from './demo-devices.ts';
import { NOTES } from './demo-releases.ts';

const POLL_MS = 60_000;
const TICK_MS = 250;
/** Milliseconds that stand for an hour of a device's delay before it installs an update. */
const MS_PER_LAG_HOUR = 1000;
const LAG_MS_MAX = 180_000;
/** Longest wait for an answer. */
export const ANSWER_MS_MAX = 10_000;

/**
 * Lets each device poll the service once a minute, until the signal. A request that fails is not repeated:
 * the device's next poll is soon.
 */
export async function runDemoFleet(
  devices: readonly DemoDevice[],
  poll: (device: DemoDevice) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let next = 0;
  const living = devices.filter((device) => !isDead(device));
  const perTick = Math.ceil((living.length * TICK_MS) / POLL_MS);
  while (!signal.aborted) {
    const asking = Array.from({ length: perTick }, () => living[next++ % living.length]);
    await Promise.all(asking.map((device) => device && poll(device)));
    await sleep(TICK_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** Returns how long a device takes to install an update here. */
export function lagMsOf({ lagHours }: DemoDevice): number {
  return Math.min(lagHours * MS_PER_LAG_HOUR, LAG_MS_MAX);
}

/** Asks for an update of the app, as a device does that has an updater of its own. */
export async function checkForUpdate(address: string, device: DemoDevice): Promise<void> {
  const { id, channel, platform, arch, version, labels } = device;
  const query = new URLSearchParams(
    Object.entries(labels).map(([key, value]): [string, string] => [`l.${key}`, value]),
  );
  const url = `${address}/u/${NOTES.ref}/${channel}/${platform}/${arch}/${version}?${query}`;
  try {
    const signal = AbortSignal.timeout(ANSWER_MS_MAX);
    const response = await fetch(url, { headers: { 'x-service-device': id }, signal });
    const offer =
      response.status === 200 ? ((await response.json()) as { version: string }) : undefined;
    if (offer === undefined || refuses(device, offer.version)) return;
    setTimeout(() => {
      device.version = offer.version;
    }, lagMsOf(device)).unref();
  } catch {
    // The service or the demo is stopping.
  }
}
