// Machines as Electron's updaters name them in one segment: `darwin-arm64`, `win32-x64`.

import { type Failure, invalidField, isFailure, type Outcome } from '../contract/failure.ts';
import { foldArch, foldPlatform, refuseArtifactName } from '../domain/decision/artifact.ts';
import type { ArtifactCandidate, Catalog } from '../domain/decision/catalog.ts';
import type { Question } from './updater.ts';

/** Platform and arch, both folded. */
export type Machine = { readonly platform: string; readonly arch: string };

const SEPARATOR = '-';

/** Reads `{platform}-{arch}`; 400 when it has not that form, or a part is too long. */
function readMachine(text: string): Machine | Failure<'invalid'> {
  const end = text.indexOf(SEPARATOR);
  const [platform, arch] = [text.slice(0, end), text.slice(end + SEPARATOR.length)];
  if (end === -1 || platform === '' || arch === '') {
    return invalidField(
      'platform',
      'Expected a platform and an architecture, such as darwin-arm64',
    );
  }
  const refusal = refuseArtifactName('platform', platform) ?? refuseArtifactName('arch', arch);
  return refusal ?? { platform: foldPlatform(platform), arch: foldArch(arch) };
}

/**
 * Returns the question of a machine's clients, under the name that the updater gives its plans; 400 when the
 * machine cannot be read. `candidates` makes the list of what they can take.
 */
export function machineQuestion(
  name: string,
  text: string,
  candidates: (catalog: Catalog, machine: Machine) => readonly ArtifactCandidate[],
): Outcome<Question<ArtifactCandidate>, 'invalid'> {
  const machine = readMachine(text);
  if (isFailure(machine)) return machine;
  const { platform, arch } = machine;
  return {
    platform,
    arch,
    // Platform and arch may contain any character: the length keeps the keys of two pairs apart.
    planKey: `${name} ${platform.length} ${platform}${arch}`,
    candidates: (catalog) => candidates(catalog, machine),
  };
}
