// The question that a recorded device asks if it repeats its last one.

import type { DeviceRecord } from '../contract/console-fleet.ts';
import type { DeviceClient } from '../contract/resource.ts';
import { foldPlatform } from '../domain/decision/artifact/artifact.ts';
import { foldArch } from '../domain/decision/artifact/fold-arch.ts';
import type { RequestFields } from '../domain/decision/targeting.ts';
import { parseVersion } from '../domain/decision/version.ts';
import type { RecordedClient } from '../updater/installable-by.ts';

/** Clients that get the highest release that fits, and compare it with their own version. */
const TELLS_NO_VERSION: ReadonlySet<DeviceClient> = new Set(['e', 'sparkle']);

/** Fields of the question, and the client that decides what can be installed. */
export type RecordedQuestion = { readonly fields: RequestFields; readonly asked: RecordedClient };

/** Returns the question. A device without a known client and version asks as on `/e`. */
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
