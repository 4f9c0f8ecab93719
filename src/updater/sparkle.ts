// Appcasts of Sparkle and WinSparkle (`appcast.xml`): an RSS feed with the release that a device should
// install, or with none. Written from Sparkle's publishing documentation and its SUAppcastItem, and
// WinSparkle's appcast parser. The clients send neither a version nor a machine, and compare versions
// themselves, so an app with a build for each arch has its arch in the URL of its feed. A Sparkle before 2.9
// installs a build for Apple silicon on an Intel Mac too. A web view shows the notes as HTML, which is
// rendered off the main thread: the first check of a release waits for it.

import { fail, type Outcome } from '../contract/failure.ts';
import type { Artifact } from '../contract/resource.ts';
import {
  foldPlatform,
  type IndexedArtifact,
  refuseArtifactName,
} from '../domain/decision/artifact/artifact.ts';
import { foldArch, NO_ARCH } from '../domain/decision/artifact/fold-arch.ts';
import type { ArtifactCandidate, Catalog } from '../domain/decision/catalog.ts';
import type { SnapshotRelease } from '../domain/decision/serving-snapshot.ts';
import { isSparkleFormat } from '../domain/release/finding/sparkle-format.ts';
import { candidatesOfMachine, type Machine } from './machine.ts';
import type { Question, Updater } from './updater.ts';

export type Appcast = {
  /** Ref of the app. */
  readonly app: string;
  readonly channel: string;
  /** File name that clients request. */
  readonly file: AppcastFile;
  /** Offered release; undefined in an appcast without items. */
  readonly item: AppcastItem | undefined;
};

export type AppcastItem = {
  /** Canonical version, shown to people. */
  readonly version: string;
  readonly release: Pick<SnapshotRelease, 'notes' | 'createdAt'>;
  readonly artifact: Artifact;
};

/** Written appcasts, cached by the object `of`. Calls `describe` only if the appcast must be written. */
export type AppcastDocuments = {
  /** Returns what to await before `document`; undefined if nothing. */
  ready(of: object, describe: () => Appcast): Promise<void> | undefined;
  document(of: object, describe: () => Appcast): Buffer;
};

type AppcastFile = 'appcast.xml' | 'appcast-windows.xml';

/** Folded platform of each appcast. */
const FILES: Readonly<Record<AppcastFile, string>> = {
  'appcast.xml': 'darwin',
  'appcast-windows.xml': 'windows',
};
const FILE_NAMES = Object.keys(FILES) as AppcastFile[];

/** Builds the protocol of appcasts. */
export function sparkle(documents: AppcastDocuments): Updater<ArtifactCandidate, 'file'> {
  return {
    path: '/sparkle/:appRef/:channel/:file',
    deviceHeaders: [],
    parameters: ['arch'],
    ask: ({ file }, { parameters }) => questionOf(file, parameters.get('arch') ?? ''),
    mediaType: 'application/xml',
    isConditional: false,
    ready: ({ catalog }, candidate) =>
      documents.ready(candidate, () => appcastOf(catalog, candidate)),
    offer: ({ catalog }, candidate) =>
      documents.document(candidate, () => appcastOf(catalog, candidate)),
    nothing: (plan) =>
      documents.document(plan, () => describe(plan.catalog, plan.fields.platform, undefined)),
  };
}

/** Returns the releases that clients of a machine can take from their appcast, highest first. */
export function sparkleCandidates(
  catalog: Catalog,
  machine: Machine,
): readonly ArtifactCandidate[] {
  const { platform, arch } = machine;
  return candidatesOfMachine(
    catalog,
    'sparkle',
    arch === NO_ARCH && platform === MAC && hasNoIntel(catalog) ? APPLE_SILICON : machine,
    ({ artifact, format }: IndexedArtifact) => {
      return artifact.url !== undefined && isSparkleFormat(platform, format);
    },
  );
}

const MAC = 'darwin';
const APPLE_SILICON: Machine = { platform: MAC, arch: 'aarch64' };

/** Returns whether an artifact runs only on Macs with Apple silicon. */
export function needsAppleSilicon({ platform, arch }: Artifact): boolean {
  return foldPlatform(platform) === MAC && foldArch(arch, MAC) === APPLE_SILICON.arch;
}

/** Answers of `hasNoIntel`, which looks at every release. */
const withoutIntel = new WeakMap<Catalog, boolean>();

/**
 * Returns whether no release of a channel is for Intel Macs: then no such Mac asks for its appcast, and a
 * request that names no arch is from Apple silicon. Paused and deprecated ones count; rolled-back ones have
 * no files.
 */
function hasNoIntel(catalog: Catalog): boolean {
  const known = withoutIntel.get(catalog);
  if (known !== undefined) return known;
  const arches = [...catalog.byCanonical.values()].flatMap(({ artifacts }) => [
    ...(artifacts.get(MAC)?.keys() ?? []),
  ]);
  const answer = arches.every((arch) => arch === APPLE_SILICON.arch);
  withoutIntel.set(catalog, answer);
  return answer;
}

function questionOf(name: string, archText: string): Outcome<Question<ArtifactCandidate>> {
  const file = FILE_NAMES.find((each) => each === name);
  if (file === undefined) return fail('unknownFile');
  const refusal = refuseArtifactName('arch', archText);
  if (refusal !== undefined) return refusal;
  const platform = FILES[file];
  const arch = archText === '' ? NO_ARCH : foldArch(archText, platform);
  const machine = { platform, arch };
  return {
    client: 'sparkle',
    ...machine,
    planKey: `sparkle ${file} ${arch}`,
    candidates: (catalog) => sparkleCandidates(catalog, machine),
  };
}

function fileFor(platform: string): AppcastFile {
  return FILE_NAMES.find((file) => FILES[file] === platform) ?? 'appcast.xml';
}

function appcastOf(catalog: Catalog, { release, artifact }: ArtifactCandidate): Appcast {
  const { source, version } = release;
  const { notes, createdAt } = source;
  const item = { version: version.canonical, release: { notes, createdAt }, artifact };
  return describe(catalog, foldPlatform(artifact.platform), item);
}

function describe({ snapshot }: Catalog, platform: string, item: AppcastItem | undefined): Appcast {
  return { app: snapshot.appRef, channel: snapshot.channel, file: fileFor(platform), item };
}
