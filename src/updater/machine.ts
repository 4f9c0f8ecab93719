// Machines as Electron's updaters name them in one segment: `darwin-arm64`, `win32-x64`.

import { type Failure, invalidField, isFailure, type Outcome } from '../contract/failure.ts';
import {
  foldPlatform,
  type IndexedArtifact,
  refuseArtifactName,
  selectArtifact,
} from '../domain/decision/artifact/artifact.ts';
import { foldArch, NO_ARCH, UNIVERSAL } from '../domain/decision/artifact/fold-arch.ts';
import {
  type ArtifactCandidate,
  type Catalog,
  candidatesBy,
  candidatesWhere,
} from '../domain/decision/catalog.ts';
import type { Question } from './updater.ts';

/** Both folded. */
export type Machine = { readonly platform: string; readonly arch: string };

const SEPARATOR = '-';
/** Arch for clients that report none, if no artifact runs on every arch. */
const COMMON_ARCH = 'x86_64';

/** Reads `{platform}-{arch}`; 400 if it has another form, or a part is too long. */
function readMachine(text: string): Machine | Failure {
  const end = text.indexOf(SEPARATOR);
  const [platform, arch] = [text.slice(0, end), text.slice(end + SEPARATOR.length)];
  if (end === -1 || platform === '' || arch === '') {
    return invalidField(
      'platform',
      'Expected a platform and an architecture, such as darwin-arm64',
    );
  }
  const refusal = refuseArtifactName('platform', platform) ?? refuseArtifactName('arch', arch);
  if (refusal !== undefined) return refusal;
  const folded = foldPlatform(platform);
  return { platform: folded, arch: foldArch(arch, folded) };
}

/**
 * Returns the question of a machine's clients, under the updater's name for its plans; 400 if the machine
 * cannot be read. `candidates` lists what they can take.
 */
export function machineQuestion(
  name: string,
  bundle: string,
  text: string,
  candidates: (catalog: Catalog, machine: Machine) => readonly ArtifactCandidate[],
): Outcome<Question<ArtifactCandidate>> {
  const machine = readMachine(text);
  if (isFailure(machine)) return machine;
  const { platform, arch } = machine;
  return {
    client: 'squirrel',
    bundle,
    platform,
    arch,
    // Platform and arch may contain any character: the length separates them.
    planKey: `${name} ${platform.length} ${platform}${arch}`,
    candidates: (catalog) => candidates(catalog, machine),
  };
}

/**
 * Returns the releases with an artifact that `fits` a machine, highest first. `name` is the updater's own.
 * Clients that report no arch get a universal artifact, else one that names none, else one for x86_64.
 */
export function candidatesOfMachine(
  catalog: Catalog,
  name: string,
  { platform, arch }: Machine,
  fits: (artifact: IndexedArtifact) => boolean,
): readonly ArtifactCandidate[] {
  if (arch !== NO_ARCH) return candidatesWhere(catalog, name, platform, arch, fits);
  return candidatesBy(catalog, `${name} ${platform}`, (release) => {
    const { artifacts } = release;
    const artifact =
      selectArtifact(artifacts, platform, UNIVERSAL, fits) ??
      selectArtifact(artifacts, platform, COMMON_ARCH, fits);
    return artifact === undefined ? undefined : { release, artifact, documents: [] };
  });
}
