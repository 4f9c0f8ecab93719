// Update files of electron-updater's generic provider, such as `latest.yml`: their names, the artifacts that
// they list, and their text. Names follow electron-updater's `getChannelFilename` and
// `getDefaultChannelName`, the layout electron-builder and builder-util-runtime's `UpdateInfo`.
//
// The client compares versions itself. Among the listed artifacts it selects by extension and by whether the
// URL contains `process.arch`, else it takes the first. So a file must not list what the client cannot
// install, and the order decides among URLs without an arch.

import { dump } from 'js-yaml';
import { fail, type Outcome } from '../contract/failure.ts';
import type { Artifact } from '../contract/resource.ts';
import {
  extensionOf,
  foldPlatform,
  refuseArtifactName,
  withWireAddress,
} from '../domain/decision/artifact/artifact.ts';
import { fileNameOf, isDelta } from '../domain/decision/artifact/artifact-format.ts';
import { foldArch, NO_ARCH, UNIVERSAL } from '../domain/decision/artifact/fold-arch.ts';
import {
  type ArtifactCandidate,
  type Candidate,
  type Catalog,
  candidatesBy,
} from '../domain/decision/catalog.ts';
import { isSemVer } from '../domain/decision/version.ts';
import type { Machine } from './machine.ts';
import { kernelVersion } from './system-version.ts';
import type { Question, Updater } from './updater.ts';

/**
 * Protocol of update files. Without an offer the answer is a refusal, because clients take an empty answer
 * for a broken one.
 */
export const ELECTRON: Updater<ElectronCandidate, 'file'> = {
  path: '/e/:appRef/:channel/:file',
  ...protocol(),
  ask: ({ channel, file }) => questionOf(channel, file, undefined),
};

/** Protocol for clients with their arch in the URL, which get no artifact for another arch. */
export const ELECTRON_FOR_ARCH: Updater<ElectronCandidate, 'arch' | 'file'> = {
  path: '/e/:appRef/:channel/:arch/:file',
  ...protocol(),
  ask: ({ channel, arch, file }) =>
    refuseArtifactName('arch', arch) ?? questionOf(channel, file, arch),
};

/**
 * Returns the releases for the clients of a machine, highest first, each with the artifact that its update
 * file lists first.
 */
export function electronCandidates(
  catalog: Catalog,
  { platform, arch }: Machine,
): readonly ArtifactCandidate[] {
  const files = FILE_KEYS.filter((file) => FILES[file].platform === platform);
  const file = files.find((each) => FILES[each].arch === arch) ?? files[0];
  if (file === undefined) return [];
  const wanted = arch === NO_ARCH ? FILES[file].arch : arch;
  return candidatesOf(catalog, file, wanted).flatMap(({ release, artifacts: [artifact] }) =>
    artifact === undefined ? [] : [{ release, artifact, documents: [] }],
  );
}

function protocol(): Omit<Updater<ElectronCandidate, never>, 'path' | 'ask'> {
  return {
    // Every electron-updater sends this header.
    deviceHeaders: ['x-user-staging-id'],
    mediaType: 'text/yaml; charset=utf-8',
    isConditional: true,
    offer: (_plan, candidate) => {
      candidate.bytes ??= Buffer.from(writeFile(candidate), 'utf8');
      return candidate.bytes;
    },
    nothing: fail('noReleaseOffered'),
  };
}

function questionOf(
  channel: string,
  name: string,
  told: string | undefined,
): Outcome<Question<ElectronCandidate>> {
  const file = fileNamed(name, channel);
  if (file === undefined) return fail('unknownFile');
  const { platform, isForArch } = FILES[file];
  const arch =
    told === undefined || isForArch === true ? FILES[file].arch : foldArch(told, platform);
  return {
    client: 'e',
    platform,
    arch,
    planKey: `electron ${file} ${arch}`,
    candidates: (catalog) => candidatesOf(catalog, file, arch),
  };
}

/** Update files by machine. Linux has one per arch, other platforms one for all. */
type ElectronFile = 'windows' | 'mac' | 'linux' | 'linux-arm64' | 'linux-arm' | 'linux-ia32';

type FileFacts = {
  /** End of the file's name, between the channel's name and the extension. */
  readonly suffix: string;
  /** Folded. */
  readonly platform: string;
  /** Folded; `NO_ARCH` if the file is for every arch. */
  readonly arch: string;
  /** Whether the name contains the arch. */
  readonly isForArch?: true;
};

/** Name and machines of each file; on Linux the name without an arch is x64's. */
const FILES: Readonly<Record<ElectronFile, FileFacts>> = {
  windows: { suffix: '', platform: 'windows', arch: NO_ARCH },
  mac: { suffix: '-mac', platform: 'darwin', arch: NO_ARCH },
  linux: { suffix: '-linux', platform: 'linux', arch: 'x86_64' },
  'linux-arm64': { suffix: '-linux-arm64', platform: 'linux', arch: 'aarch64', isForArch: true },
  'linux-arm': { suffix: '-linux-arm', platform: 'linux', arch: 'armv7', isForArch: true },
  'linux-ia32': { suffix: '-linux-ia32', platform: 'linux', arch: 'i686', isForArch: true },
};

/** Published release with at least one artifact that an update file lists. */
type ElectronCandidate = Candidate & {
  readonly artifacts: readonly ElectronArtifact[];
  /** Bytes of the file once written, so that a check need not write it. Set by `offer`. */
  bytes: Buffer | undefined;
};

/** Artifact with a URL and at least one checksum. */
type ElectronArtifact = Artifact & { readonly url: string } & (
    | { readonly sha512: string }
    | { readonly sha256: string }
  );

const DEFAULT_CHANNEL = 'latest';
const FILE_KEYS = Object.keys(FILES) as ElectronFile[];

/**
 * Returns the file that a name asks for on a channel; undefined if it asks for none. The name begins with
 * `latest` or the channel's name, which builds with a prerelease version ask for. Names with `latest` mean
 * the same on every channel, even on one called `latest-mac`.
 */
function fileNamed(name: string, channel: string): ElectronFile | undefined {
  return fileBeginningWith(DEFAULT_CHANNEL, name) ?? fileBeginningWith(channel, name);
}

function fileBeginningWith(beginning: string, name: string): ElectronFile | undefined {
  return FILE_KEYS.find((file) => name === `${beginning}${FILES[file].suffix}.yml`);
}

/**
 * Returns the releases for the clients of a file, except those whose version has a fourth part, on which
 * electron-updater fails because it reads SemVer. All arches that no artifact names share one list, so that
 * clients cannot multiply the lists.
 */
function candidatesOf(
  catalog: Catalog,
  file: ElectronFile,
  arch: string,
): readonly ElectronCandidate[] {
  const isNamed = catalog.supportByPlatform.get(FILES[file].platform)?.arches.has(arch) ?? false;
  const wanted = arch === NO_ARCH || isNamed ? arch : UNNAMED;
  return candidatesBy(catalog, `electron ${file} ${wanted}`, (release) => {
    if (!isSemVer(release.version)) return undefined;
    const artifacts = listArtifacts(release.source.artifacts, FILES[file].platform, wanted);
    return artifacts.length === 0 ? undefined : { release, artifacts, bytes: undefined };
  });
}

/** Formats that the updater of each platform installs; macOS never takes a .dmg or .pkg. */
const INSTALLABLE: Readonly<Record<string, ReadonlySet<string>>> = {
  windows: new Set(['exe']),
  darwin: new Set(['zip']),
  linux: new Set(['appimage', 'deb', 'rpm', 'pacman']),
};

/**
 * Form of a file ending, as in `app.msi` and `app.exe.sha512`: a file with an ending that the updater does
 * not install is never listed. `app-1.2.0` has none.
 */
const ENDING = /^[a-z]/;

const SETUP = /(?:^|[^a-z])(?:setup|installer)(?:[^a-z]|$)/i;
const UNUSABLE = -1;
/** Stands for every arch that no artifact names. */
const UNNAMED = '*';

/**
 * Returns the artifacts that a file lists, best first; empty if its clients could use none. A single missing
 * checksum makes electron-updater refuse the whole file, so artifacts without one are left out. Artifacts
 * without a file ending count as installable if there are no others.
 */
function listArtifacts(
  artifacts: readonly Artifact[],
  platform: string,
  wanted: string,
): readonly ElectronArtifact[] {
  const usable = artifacts
    .filter((artifact) => foldPlatform(artifact.platform) === platform && !isDelta(artifact))
    .filter(isVerifiable)
    .map(withWireAddress)
    .filter((artifact) => archRank(artifact, wanted) !== UNUSABLE);
  const installable = usable.filter(({ url }) => INSTALLABLE[platform]?.has(extensionOf(url)));
  const listed =
    installable.length > 0
      ? installable
      : usable.filter(({ url }) => !ENDING.test(extensionOf(url)));
  return listed.sort(
    (left, right) =>
      archRank(left, wanted) - archRank(right, wanted) || setupRank(left) - setupRank(right),
  );
}

function isVerifiable(artifact: Artifact): artifact is ElectronArtifact {
  const { url, sha512 = '', sha256 = '' } = artifact;
  return url !== undefined && (sha512 !== '' || sha256 !== '');
}

/**
 * Returns the rank of an artifact's arch in the file; `UNUSABLE` if the file is for another arch. In a file
 * for one arch: that arch, then artifacts for several, as update checks prefer them. In a file for all: every
 * arch, then x64, then others, then arm64, because a client that finds its arch in no URL takes the first.
 */
function archRank(artifact: Artifact, wanted: string): number {
  const arch = foldedArch(artifact);
  if (wanted !== NO_ARCH) return [wanted, UNIVERSAL, NO_ARCH].indexOf(arch);
  if (arch === UNIVERSAL || arch === NO_ARCH) return 0;
  if (arch === 'x86_64') return 1;
  return arch === 'aarch64' ? 3 : 2;
}

/**
 * Returns 0 for an artifact named as an installer, otherwise 1: portable builds are `.exe` files too, and
 * must not come before an installer.
 */
function setupRank({ url }: ElectronArtifact): number {
  return SETUP.test(fileNameOf(url)) ? 0 : 1;
}

/**
 * Writes the file that offers a candidate. Strings are quoted, because an unquoted date becomes a Date and
 * `1.10` a number. There is no `stagingPercentage`, because the decision has applied the rollout.
 */
function writeFile({ release, artifacts }: ElectronCandidate): string {
  const [first] = artifacts;
  const system = minimumSystemOf(artifacts);
  const { notes, createdAt } = release.source;
  return dump(
    {
      version: release.version.canonical,
      files: artifacts.map((artifact) => fileEntry(artifacts, artifact)),
      // Only clients before 2.16 read these keys, because they do not know `files`.
      ...(first === undefined ? {} : { path: first.url, ...checksumOf(first) }),
      ...(system === undefined ? {} : { minimumSystemVersion: system }),
      ...(notes === '' ? {} : { releaseNotes: notes }),
      releaseDate: createdAt,
    },
    { forceQuotes: true, lineWidth: -1, noRefs: true },
  );
}

/**
 * Returns the first minimum system version that an artifact has, as clients compare it; undefined if none.
 */
function minimumSystemOf(artifacts: readonly ElectronArtifact[]): string | undefined {
  for (const { platform, minimumSystemVersion } of artifacts) {
    if (minimumSystemVersion === undefined) continue;
    return kernelVersion(foldPlatform(platform), minimumSystemVersion);
  }
  return undefined;
}

function fileEntry(artifacts: readonly ElectronArtifact[], artifact: ElectronArtifact) {
  const { size } = artifact;
  return {
    url: listedUrl(artifacts, artifact),
    ...checksumOf(artifact),
    ...(size === undefined ? {} : { size }),
  };
}

/** `process.arch` of the arches that Electron runs on. */
const PROCESS_ARCHES: ReadonlyMap<string, string> = new Map([
  ['x86_64', 'x64'],
  ['aarch64', 'arm64'],
  ['i686', 'ia32'],
]);

/**
 * Returns the URL to list for an artifact: the publisher's, unless a client would then take the file of
 * another arch. Clients look for their own name of the arch in the URL. If the publisher used another name
 * (`aarch64`), a fragment adds theirs, which they match and do not send.
 */
function listedUrl(artifacts: readonly ElectronArtifact[], artifact: ElectronArtifact): string {
  const { url } = artifact;
  const hint = PROCESS_ARCHES.get(foldedArch(artifact));
  if (hint === undefined || url.includes(hint) || !needsHint(artifacts, artifact)) return url;
  return `${url}${url.includes('#') ? '-' : '#'}${hint}`;
}

/**
 * Returns whether a URL must contain its arch. Clients that find their arch in no URL take the first
 * artifact, so the first needs no name; but an x64 Mac must recognise an arm64 build even in first position.
 */
function needsHint([first]: readonly ElectronArtifact[], artifact: ElectronArtifact): boolean {
  const arch = foldedArch(artifact);
  if (arch === 'aarch64' && foldPlatform(artifact.platform) === 'darwin') return true;
  return first === undefined || foldedArch(first) !== arch;
}

function foldedArch({ platform, arch }: Artifact): string {
  return foldArch(arch, foldPlatform(platform));
}

/** Returns the checksum to list, SHA-512 if present: with `sha2`, clients repeat downloads at a restart. */
function checksumOf({ sha512 = '', sha256 }: ElectronArtifact) {
  return sha512 === '' ? { sha2: sha256 } : { sha512: base64Of(sha512) };
}

const HEX_SHA512 = /^[0-9a-f]{128}$/i;

/**
 * Returns a SHA-512 checksum in base64, as updaters compare it: one in hex would make them download the same
 * file again at every start.
 */
function base64Of(sha512: string): string {
  return HEX_SHA512.test(sha512) ? Buffer.from(sha512, 'hex').toString('base64') : sha512;
}
