// The question that a device on record asks, if it asks again as it did last.

import type { DeviceRecord } from '../contract/console-fleet.ts';
import type { DeviceClient } from '../contract/device-client.ts';
import { foldPlatform } from '../domain/decision/artifact.ts';
import { foldArch } from '../domain/decision/fold-arch.ts';
import type { RequestFields } from '../domain/decision/targeting.ts';
import { parseVersion } from '../domain/decision/version.ts';
import type { RecordedClient } from '../updater/installable-by.ts';

/** Clients that are offered the highest release that fits, and compare it with their own version. */
const TELLS_NO_VERSION: ReadonlySet<DeviceClient> = new Set(['e', 'sparkle']);

/** Fields of the question, and the client that decides what can be installed. */
export type RecordedQuestion = { readonly fields: RequestFields; readonly asked: RecordedClient };

/** Returns the question. A device that is not known to have told its version asks as on `/e`. */
export function recordedQuestion(
  device: Pick<DeviceRecord, 'version' | 'platform' | 'arch' | 'client' | 'bundle'>,
): RecordedQuestion {
  const version = device.version === null ? undefined : parseVersion(device.version);
  const client = device.client ?? (version === undefined ? 'e' : 'u');
  const platform = foldPlatform(device.platform);
  const machine = { platform, arch: foldArch(device.arch ?? undefined, platform) };
  return {
    fields: { version: TELLS_NO_VERSION.has(client) ? undefined : version, ...machine },
    asked: { client, bundle: device.bundle, machine },
  };
}
