// Makes the artifacts of a release from the files of a build on disk. Selects the same files as the webhook,
// and adds what only the files themselves and the manifests beside them show.

import { existsSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Finding } from '../../contract/dry-run.ts';
import type { Artifact } from '../../contract/resource.ts';
import { artifactFormat } from '../../domain/decision/artifact/artifact-format.ts';
import { knownArch } from '../../domain/decision/artifact/fold-arch.ts';
import { type AssetTarget, classifyAssets } from '../../domain/release/asset/classify-assets.ts';
import { readAsset } from '../../domain/release/asset/read-asset.ts';
import { ServiceError } from '../call/service-client.ts';
import { readText } from '../call/text-file.ts';
import { type BuildFile, type BuildFiles, filesOfBuild, type PassedOver } from './build-files.ts';
import { earlierVersion, updateFileFindings } from './build-findings.ts';
import { type ManifestEntry, readManifest } from './build-manifest.ts';
import { refuseOtherSums } from './checksum-files.ts';
import type { Content, FileContents } from './file-contents.ts';
import { joinEntries } from './join-entries.ts';

/** Maximum size of a signature file in bytes; minisign's have less than 1 KiB. */
const SIGNATURE_BYTES_MAX = 16 * 1024;

/** Files and manifest entries of a build, before the contents of the files are read. */
export type Build = BuildFiles & {
  readonly version: string;
  readonly entries: readonly ManifestEntry[];
};

/** Files that make up a release, and those that do not. */
export type ReleaseFiles = {
  readonly taken: readonly TakenFile[];
  readonly passedOver: readonly PassedOver[];
  /** Findings that only the folder of the build can show. */
  readonly findings: readonly Finding[];
};

/** File of a release. */
export type TakenFile = { readonly file: BuildFile; readonly artifact: Artifact };

/** Finds the files of a build and reads its manifests; rejects with `ServiceError` if it cannot. */
export async function readBuild(paths: readonly string[], version: string): Promise<Build> {
  const { files, passedOver } = filesOfBuild(paths);
  const others: BuildFile[] = [];
  const entries: ManifestEntry[] = [];
  for (const file of files) {
    const told = await readManifest(file, version);
    if (told === undefined) others.push(file);
    else entries.push(...told);
  }
  return { version, files: others, passedOver, entries };
}

/**
 * Reads the files of a build, those that a manifest lists first: devices are offered the first of two files
 * for them, and a portable program may lie beside its installer. `addressOf` returns the address of a file by
 * its name, or undefined; an address in a manifest comes first. Rejects with `ServiceError` when a file
 * cannot be read, two files have one name, or a file differs from its manifest.
 */
export async function readReleaseFiles(
  build: Build,
  addressOf: (name: string) => string | undefined,
  contents: FileContents,
): Promise<ReleaseFiles> {
  await refuseOtherSums(build.files, contents);
  const { told, findings } = await joinEntries(build.entries, build.files, contents);
  const names = new Set(build.files.map(({ name }) => name));
  const targets = targetsOf(build.files);
  const taken: TakenFile[] = [];
  const passedOver: PassedOver[] = [...build.passedOver];
  const byName = new Map<string, TakenFile>();
  for (const file of listedFirst(build.files, told)) {
    const entry = told.get(file);
    const earlier = entry === undefined && earlierVersion(file.name, build.version, names);
    const target = earlier
      ? `of version ${earlier}, by its name`
      : (entry?.reason ?? targetOf(file, targets.get(file.name), entry));
    if (typeof target === 'string') {
      passedOver.push({ file: file.path, reason: target });
      continue;
    }
    const content = await contents.of(file);
    const name = entry?.name ?? file.name;
    const same = byName.get(name);
    if (same === undefined) {
      const url = entry?.url ?? addressOf(name);
      const artifact = {
        ...{ ...target, ...addressPart(file.name, url), ...content },
        ...morePart(file.path, entry),
      };
      byName.set(name, { file, artifact });
      taken.push({ file, artifact });
    } else passedOver.push(repeated(file, same, content));
  }
  return {
    taken,
    passedOver: withoutUsed(passedOver, taken),
    findings: [...findings, ...updateFileFindings(build.files, build.entries, taken)],
  };
}

function listedFirst(
  files: readonly BuildFile[],
  told: ReadonlyMap<BuildFile, ManifestEntry>,
): readonly BuildFile[] {
  return [...files.filter((file) => told.has(file)), ...files.filter((file) => !told.has(file))];
}

const NO_ARTIFACT = {
  metadata: 'belongs to another file, by its name',
  part: 'a part of a file that was split',
  incomplete: 'no full package',
  'unknown-ending': 'no format is known by its ending',
  'no-platform': 'its name tells no platform',
} as const;

function targetsOf(files: readonly BuildFile[]): ReadonlyMap<string, AssetTarget | undefined> {
  const names = [...new Set(files.map(({ name }) => name))];
  const targets = classifyAssets(names);
  return new Map(names.map((name, index) => [name, targets[index]]));
}

/** Returns the devices that a file is for, or why it is no artifact; its name overrides its manifest. */
function targetOf(
  { name, path }: BuildFile,
  target: AssetTarget | undefined,
  entry: ManifestEntry | undefined,
): AssetTarget | string {
  const reading = readAsset(name);
  const none = 'none' in reading ? reading.none : 'metadata';
  const told = none === 'no-platform' && entry?.platform !== undefined;
  if (entry?.target !== undefined && (target !== undefined || none === 'no-platform')) {
    return entry.target;
  }
  if (target === undefined && !told) return NO_ARTIFACT[none];
  const platform = target?.platform ?? entry?.platform ?? '';
  const arch = target?.arch ?? entry?.arch ?? archOfFolder(path, platform);
  return { platform, ...(arch === undefined ? {} : { arch }) };
}

/** Returns the architecture that Electron Forge's folder is named for: `make/squirrel.windows/arm64`. */
function archOfFolder(path: string, platform: string): string | undefined {
  return knownArch(basename(dirname(path)).toLowerCase(), platform);
}

/** Passes over a file that repeats another one's name and content; throws if only the name is the same. */
function repeated(file: BuildFile, same: TakenFile, { sha512 }: Content): PassedOver {
  const { path } = same.file;
  if (same.artifact.sha512 === sha512)
    return { file: file.path, reason: `the same file as ${path}` };
  const both = [path, file.path].toSorted().join(' and ');
  throw new ServiceError(
    `two files have the name ${file.name}, so that one address would stand for both: ${both}; ` +
      'give one of them another name where it is built, such as with its architecture',
  );
}

/** Leaves out the signature files that artifacts use. */
function withoutUsed(
  passedOver: readonly PassedOver[],
  taken: readonly TakenFile[],
): readonly PassedOver[] {
  const used = new Set(taken.map(({ file }) => signatureBeside(file.path)));
  return passedOver.filter(({ file }) => !used.has(file));
}

/** Returns the address, and the format if the file's name shows it and the address does not. */
function addressPart(name: string, url: string | undefined): Pick<Artifact, 'url' | 'format'> {
  const format = artifactFormat({ url: `file:///${encodeURIComponent(name)}` });
  const isTold = url !== undefined && artifactFormat({ url }) === format;
  return {
    ...(url === undefined ? {} : { url }),
    ...(format === undefined || isTold ? {} : { format }),
  };
}

type More = Pick<Artifact, 'signature' | 'minimumSystemVersion' | 'buildVersion'>;

/** Returns a file's signature, and the system and build version from its manifest. */
function morePart(path: string, entry: ManifestEntry | undefined): More {
  const signature = signatureOf(path) ?? entry?.signature;
  const { minimumSystemVersion, buildVersion } = entry ?? {};
  return {
    ...(signature === undefined ? {} : { signature }),
    ...(minimumSystemVersion === undefined ? {} : { minimumSystemVersion }),
    ...(buildVersion === undefined ? {} : { buildVersion }),
  };
}

function signatureOf(path: string): string | undefined {
  const beside = signatureBeside(path);
  if (!existsSync(beside)) return undefined;
  if (statSync(beside).size > SIGNATURE_BYTES_MAX) {
    throw new ServiceError(`${beside} is no signature: it has more than 16 KiB`);
  }
  return readText(beside).trim() || undefined;
}

function signatureBeside(path: string): string {
  return `${path}.sig`;
}
