// Appcasts of Sparkle and WinSparkle (`appcast.xml`): an RSS feed with the release that a device should
// install, or with none.
//
// Written from Sparkle's documentation of publishing and its SUAppcastItem, and WinSparkle's appcast parser.
// The clients tell neither a version nor a machine, and compare versions themselves, so that an app with a
// build for each arch names its arch in the address of its feed. Notes are shown in a web view, as HTML. They
// are rendered beside the serving thread, so that the first check of a release waits for its appcast.

import { fail, type Outcome } from '../contract/failure.ts';
import type { Artifact } from '../contract/resource.ts';
import {
  foldPlatform,
  type IndexedArtifact,
  refuseArtifactName,
} from '../domain/decision/artifact.ts';
import type { ArtifactCandidate, Catalog } from '../domain/decision/catalog.ts';
import { foldArch, NO_ARCH } from '../domain/decision/fold-arch.ts';
import type { SnapshotRelease } from '../domain/decision/serving-snapshot.ts';
import { candidatesOfMachine, type Machine } from './machine.ts';
import type { Question, Updater } from './updater.ts';

/** What an appcast tells. */
export type Appcast = {
  /** Ref of the app. */
  readonly app: string;
  readonly channel: string;
  /** Name under which clients ask for it. */
  readonly file: AppcastFile;
  /** Release that it offers; undefined in an appcast without items. */
  readonly item: AppcastItem | undefined;
};

export type AppcastItem = {
  /** Canonical version, which people are shown. */
  readonly version: string;
  readonly release: Pick<SnapshotRelease, 'notes' | 'createdAt'>;
  readonly artifact: Artifact;
};

/**
 * Written appcasts, each kept with the object that it is of. `describe` is called only for one that has to be
 * written.
 */
export type AppcastDocuments = {
  /** Returns what to wait for before a document is asked for; undefined when it needs no waiting. */
  ready(of: object, describe: () => Appcast): Promise<void> | undefined;
  document(of: object, describe: () => Appcast): Buffer;
};

type AppcastFile = 'appcast.xml' | 'appcast-windows.xml';

/** Platform of each appcast, folded, and the formats that its clients install. */
const FILES: Readonly<
  Record<AppcastFile, { platform: string; installs: (format: string) => boolean }>
> = {
  'appcast.xml': {
    platform: 'darwin',
    // An `app.tar.gz` is made for Tauri's updater.
    installs: (format) => ['zip', 'dmg', 'pkg'].includes(format) || format.startsWith('tar.'),
  },
  'appcast-windows.xml': {
    platform: 'windows',
    installs: (format) => ['nsis', 'exe', 'msi'].includes(format),
  },
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
  const { installs } = FILES[fileFor(machine.platform)];
  return candidatesOfMachine(
    catalog,
    'sparkle',
    machine,
    ({ artifact, format }: IndexedArtifact) => {
      return artifact.url !== undefined && format !== undefined && installs(format);
    },
  );
}

function questionOf(
  name: string,
  archText: string,
): Outcome<Question<ArtifactCandidate>, 'invalid' | 'unknownFile'> {
  const file = FILE_NAMES.find((each) => each === name);
  if (file === undefined) return fail('unknownFile');
  const refusal = refuseArtifactName('arch', archText);
  if (refusal !== undefined) return refusal;
  const { platform } = FILES[file];
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
  return FILE_NAMES.find((file) => FILES[file].platform === platform) ?? 'appcast.xml';
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
