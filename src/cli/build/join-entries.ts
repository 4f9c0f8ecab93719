// Finds the file of a build that each entry of its manifests describes. A checksum finds a file whatever its
// name is: electron-builder lists `My App Setup 1.4.0.exe` as `My-App-Setup-1.4.0.exe`, its upload name.

import type { Finding } from '../../contract/dry-run.ts';
import { readAsset } from '../../domain/release/asset/read-asset.ts';
import { ServiceError } from '../call/service-client.ts';
import type { BuildFile } from './build-files.ts';
import type { ManifestEntry } from './build-manifest.ts';
import type { FileContents } from './file-contents.ts';

const SUMS = ['sha512', 'sha256', 'sha1'] as const;

export type JoinedEntries = {
  /** Entry of each file that a manifest lists. */
  readonly told: ReadonlyMap<BuildFile, ManifestEntry>;
  /** Errors for the entries whose files are missing. */
  readonly findings: readonly Finding[];
};

/** Finds the file of each entry. Rejects with `ServiceError` when a file's content differs from its entry. */
export async function joinEntries(
  entries: readonly ManifestEntry[],
  files: readonly BuildFile[],
  contents: FileContents,
): Promise<JoinedEntries> {
  const told = new Map<BuildFile, ManifestEntry>();
  const absent = new Map<string, ManifestEntry>();
  for (const entry of entries.filter(({ other }) => other === undefined)) {
    const file = await fileOf(entry, files, contents);
    if (file !== undefined) told.set(file, { ...entry, ...told.get(file) });
    else if (isWanted(entry)) {
      // Several manifests of a tool may list the same missing file: it is reported once.
      const name = plainName(entry.name);
      absent.set(name, absent.get(name) ?? entry);
    }
  }
  for (const entry of entries.filter(({ other }) => other !== undefined)) {
    const file = await sameFile(entry, files, contents);
    if (file === undefined || told.has(file)) continue;
    const reason = `of version ${entry.other}, as ${entry.from} says`;
    told.set(file, { ...entry, reason });
  }
  return { told, findings: [...absent.values()].map(missing) };
}

async function fileOf(
  entry: ManifestEntry,
  files: readonly BuildFile[],
  contents: FileContents,
): Promise<BuildFile | undefined> {
  const same = await sameFile(entry, files, contents);
  const other = same === undefined ? files.find(({ name }) => isNamed(name, entry)) : undefined;
  if (other === undefined) return same;
  throw new ServiceError(
    `${other.name} is another file than ${entry.from} says: its content differs`,
  );
}

/** Returns the file with an entry's checksums, or its size; one with its name if there is any. */
async function sameFile(
  entry: ManifestEntry,
  files: readonly BuildFile[],
  contents: FileContents,
): Promise<BuildFile | undefined> {
  const { size } = entry;
  const sums = SUMS.filter((sum) => entry[sum] !== undefined);
  const named = files.filter(({ name }) => isNamed(name, entry));
  // Prefers the name, because another file, with its own entry, may have the same content.
  const possible = named.length > 0 ? named : files.filter(mayBeArtifact);
  const hasSize = possible.filter((file) => size === undefined || file.size === size);
  // A size alone does not identify a file: others may have the same size.
  if (sums.length === 0) return named.length > 0 ? hasSize[0] : undefined;
  for (const file of hasSize) {
    const content = await contents.of(file);
    const known = sums.filter((sum) => content[sum] !== undefined);
    if (known.length > 0 && known.every((sum) => content[sum] === entry[sum])) return file;
  }
  return undefined;
}

/** Whether a file has the name of an entry, where tools and code hosts replace spaces by hyphens or dots. */
function isNamed(name: string, entry: ManifestEntry): boolean {
  return plainName(name) === plainName(entry.name);
}

function plainName(name: string): string {
  return name.replace(/[^0-9A-Za-z]+/g, '-').toLowerCase();
}

function mayBeArtifact({ name }: BuildFile): boolean {
  const reading = readAsset(name);
  return !('none' in reading) || reading.none === 'no-platform';
}

/** Whether devices install the file of an entry; other files, such as delta packages, may be missing. */
function isWanted({ name, reason }: ManifestEntry): boolean {
  return reason === undefined && mayBeArtifact({ name, path: name, size: 0 });
}

function missing({ from, name, ...entry }: ManifestEntry): Finding {
  const hasSum = SUMS.some((sum) => entry[sum] !== undefined);
  const orContent = hasSum ? ', and no file with its content' : '';
  const message = `Names ${name}, which is missing: there is no file of that name${orContent}`;
  return { path: from, severity: 'error', message };
}
