// Clients of devices. A device's record has the last one, because clients differ in what they can install.

/** The updater's protocol, or an orchestrator in the device's place (`push`). */
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

/** Returns whether a text is the name of a client. */
export function isDeviceClient(text: unknown): text is DeviceClient {
  return typeof text === 'string' && Object.hasOwn(CLIENTS, text);
}
