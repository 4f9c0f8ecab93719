// The ways in which devices ask for updates. A record of a device keeps the last one, because clients differ
// in what they can install.

/** Way in which a device asks: the updater's protocol, or an orchestrator in the device's place (`push`). */
export type DeviceClient = 'u' | 'tauri' | 'e' | 'squirrel' | 'velopack' | 'sparkle' | 'push';

const CLIENTS: Readonly<Record<DeviceClient, true>> = {
  u: true,
  tauri: true,
  e: true,
  squirrel: true,
  velopack: true,
  sparkle: true,
  push: true,
};

/** Whether a text is the name of a way to ask. */
export function isDeviceClient(text: unknown): text is DeviceClient {
  return typeof text === 'string' && Object.hasOwn(CLIENTS, text);
}
