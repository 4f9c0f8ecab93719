// Words for the ways in which devices ask.

import type { DeviceClient } from '../../contract/device-client.ts';

const CLIENT_TEXTS: Readonly<Record<DeviceClient, string>> = {
  u: 'by update checks',
  tauri: 'with Tauri',
  e: 'with electron-updater',
  squirrel: 'with Squirrel',
  velopack: 'with Velopack',
  sparkle: 'with Sparkle',
  push: 'through an orchestrator',
};

/** Returns how a device asks; null is a device of which that is not known. */
export function clientText(client: DeviceClient | null): string {
  if (client === null) return 'in an unknown way';
  // A page that was loaded before the service was upgraded may receive a client that it has no text for.
  return Object.hasOwn(CLIENT_TEXTS, client) ? CLIENT_TEXTS[client] : client;
}
