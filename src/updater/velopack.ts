// Feeds of Velopack (`releases.win.json`): a list with the package that a device should install, or an empty
// one. Written from Velopack's documentation of its HTTP source and VelopackAssetFeed. The client compares
// versions itself and picks the highest full package; newer clients send their version, machine and an id for
// staged rollouts. It reads only SemVer: versions with four parts are left out.

import { type Failure, fail, invalidField, isFailure, type Outcome } from '../contract/failure.ts';
import type { Artifact } from '../contract/resource.ts';
import { isLongerThan, isStorable, NOT_STORABLE } from '../contract/text.ts';
import {
  foldPlatform,
  type IndexedArtifact,
  refuseArtifactName,
} from '../domain/decision/artifact/artifact.ts';
import { decodedFileName } from '../domain/decision/artifact/artifact-format.ts';
import { foldArch, NO_ARCH } from '../domain/decision/artifact/fold-arch.ts';
import type { ArtifactCandidate, Catalog } from '../domain/decision/catalog.ts';
import { isSemVer, parseVersion, type Version } from '../domain/decision/version.ts';
import { candidatesOfMachine, type Machine } from './machine.ts';
import type { AskingClient, Question, Updater } from './updater.ts';

/** Candidate with the client's name of the package. */
type VelopackCandidate = ArtifactCandidate & { readonly packageId: string | undefined };

export const VELOPACK: Updater<VelopackCandidate, 'name'> = {
  path: '/velopack/:appRef/:channel/releases.:name.json',
  deviceHeaders: [],
  deviceParameter: 'stagingId',
  parameters: ['localVersion', 'id', 'os', 'arch', 'rid'],
  ask: ({ name }, client) => questionOf(name, client),
  mediaType: 'application/json',
  isConditional: false,
  offer({ catalog }, candidate) {
    candidate.documents[0] ??= feedOf(catalog, candidate);
    return candidate.documents[0];
  },
  nothing: () => EMPTY_FEED,
};

const EMPTY_FEED = Buffer.from(JSON.stringify({ Assets: [] }), 'utf8');
const MAC = 'darwin';
/** Names of feeds that contain a platform, with or without an arch after it. */
const NAMED_MACHINE = /^(win|osx|linux)(?:-(x64|arm64|x86))?$/;
/** Runtime identifier of .NET: `win-x64`, `win10-x64`, `osx.13-arm64`, `linux-musl-x64`. */
const RUNTIME = /^([a-z]+)[\d.]*(?:-musl)?(?:-([a-z0-9_]+))?$/i;
const DEFAULT_ARCH = 'x86_64';
const PACKAGE_ID_LENGTH_MAX = 128;

function questionOf(
  name: string,
  { parameters }: AskingClient,
): Outcome<Question<VelopackCandidate>> {
  const machine = machineOf(name, parameters);
  if (isFailure(machine)) return machine;
  const version = versionOf(parameters.get('localVersion'));
  if (isFailure(version)) return version;
  const packageId = parameters.get('id') || undefined;
  const refusal = packageId === undefined ? undefined : refusePackageId(packageId);
  if (refusal !== undefined) return refusal;
  const { platform, arch } = machine;
  return {
    client: 'velopack',
    platform,
    arch,
    ...(version === undefined ? {} : { version }),
    planKey: `velopack ${JSON.stringify([platform, arch, packageId])}`,
    candidates: (catalog) =>
      // Not cached, because clients choose the id; the list that they share is cached.
      velopackCandidates(catalog, machine).map((candidate) => ({
        ...candidate,
        packageId,
        documents: [],
      })),
  };
}

/**
 * Returns the machine of a feed: from the client's runtime identifier or system, else from the feed's name.
 * If neither names an arch, it is `NO_ARCH` on macOS, where universal artifacts are preferred, else x86_64.
 */
function machineOf(name: string, parameters: ReadonlyMap<string, string>): Machine | Failure {
  const [, named, namedArch] = NAMED_MACHINE.exec(name) ?? [];
  const rid = parameters.get('rid') || undefined;
  const [, ridSystem, ridArch] = RUNTIME.exec(rid ?? '') ?? [];
  if (rid !== undefined && ridSystem === undefined) {
    return invalidField('rid', 'Expected a runtime identifier, such as win-x64');
  }
  const system = ridSystem ?? (parameters.get('os') || named);
  if (system === undefined) return fail('unknownFile');
  const arch = ridArch ?? (parameters.get('arch') || namedArch);
  const refusal =
    refuseArtifactName(ridSystem === undefined ? 'os' : 'rid', system) ??
    refuseArtifactName(ridArch === undefined ? 'arch' : 'rid', arch ?? '');
  if (refusal !== undefined) return refusal;
  const platform = foldPlatform(system);
  if (arch !== undefined) return { platform, arch: foldArch(arch, platform) };
  return { platform, arch: platform === MAC ? NO_ARCH : DEFAULT_ARCH };
}

function versionOf(text: string | undefined): Version | undefined | Failure {
  if (text === undefined || text === '') return undefined;
  return parseVersion(text) ?? invalidField('localVersion', 'Invalid version');
}

function refusePackageId(text: string): Failure | undefined {
  if (isLongerThan(text, PACKAGE_ID_LENGTH_MAX)) {
    return invalidField('id', `Must have at most ${PACKAGE_ID_LENGTH_MAX} characters`);
  }
  return isStorable(text) ? undefined : invalidField('id', NOT_STORABLE);
}

/** Returns the releases that clients of a machine can take, highest first. */
export function velopackCandidates(
  catalog: Catalog,
  machine: Machine,
): readonly ArtifactCandidate[] {
  const list = candidatesOfMachine(catalog, 'velopack', machine, isPackage);
  return list.filter(({ release }) => isSemVer(release.version));
}

/** Matches names that would lead to another folder of the device. */
const OTHER_FOLDER = /[/\\]/;

/** Returns whether a feed can list an artifact: the client needs its size, a checksum and a plain name. */
function isPackage({ artifact, format }: IndexedArtifact): boolean {
  const { url, size, sha1, sha256 } = artifact;
  const hasSum = sha1 !== undefined || sha256 !== undefined;
  if (format !== 'nupkg' || url === undefined || size === undefined || !hasSum) return false;
  return !OTHER_FOLDER.test(packageNameOf(artifact));
}

function feedOf(catalog: Catalog, { release, artifact, packageId }: VelopackCandidate): Buffer {
  const { sha1, sha256, size } = artifact;
  const asset = {
    PackageId: packageId ?? catalog.snapshot.appRef,
    Version: release.version.canonical,
    Type: 'Full',
    FileName: packageNameOf(artifact),
    ...(sha1 === undefined ? {} : { SHA1: sha1.toUpperCase() }),
    ...(sha256 === undefined ? {} : { SHA256: sha256.toUpperCase() }),
    Size: size,
    NotesMarkdown: release.source.notes,
  };
  return Buffer.from(JSON.stringify({ Assets: [asset] }), 'utf8');
}

/** Returns the file name of a package that a client requests: the decoded last part of its URL. */
export function packageNameOf({ url = '' }: Artifact): string {
  return decodedFileName(url);
}
