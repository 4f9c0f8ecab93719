// Candidates that a recorded device can install, by the protocol of its last check.

import type { DeviceClient } from '../contract/resource.ts';
import { ANY_KIND } from '../domain/decision/artifact/artifact-format.ts';
import type { ArtifactCandidate, Catalog } from '../domain/decision/catalog.ts';
import { ddiCandidates } from './ddi-candidates.ts';
import { electronCandidates } from './electron.ts';
import type { Machine } from './machine.ts';
import { manifestQuestion } from './manifest.ts';
import { sparkleCandidates } from './sparkle.ts';
import { squirrelCandidates } from './squirrel-mac.ts';
import { squirrelWindowsCandidates } from './squirrel-windows.ts';
import { velopackCandidates } from './velopack.ts';

/** Client and machine of a device's last check. */
export type RecordedClient = {
  readonly client: DeviceClient;
  /** Kind that it was installed from; null if it reported none. */
  readonly bundle: string | null;
  readonly machine: Machine;
};

/** Returns the releases that a device can take, highest first, each with its artifact for the device. */
export function installableBy(
  catalog: Catalog,
  { client, bundle, machine }: RecordedClient,
): readonly ArtifactCandidate[] {
  switch (client) {
    case 'u':
    case 'tauri':
    case 'push': {
      const installable = { kind: bundle ?? ANY_KIND, mustBeSigned: client === 'tauri' };
      return manifestQuestion(machine.platform, machine.arch, installable).candidates(catalog);
    }
    case 'e':
      return electronCandidates(catalog, machine);
    case 'squirrel':
      if (bundle === 'nupkg') return squirrelWindowsCandidates(catalog, machine);
      return squirrelCandidates(catalog, machine, bundle === 'msix' ? 'msix' : 'zip');
    case 'velopack':
      return velopackCandidates(catalog, machine);
    case 'ddi':
      return ddiCandidates(catalog, machine, bundle ?? undefined);
    case 'sparkle':
      return sparkleCandidates(catalog, machine);
  }
}
