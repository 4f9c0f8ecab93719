// Artifacts of a release from the files that a build has left on the disk: the same files as the webhook
// takes, with what only the files themselves tell.

import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import type { Artifact } from '../contract/resource.ts';
import { artifactFormat } from '../domain/decision/artifact-format.ts';
import { classifyAssets } from '../domain/release/classify-assets.ts';
import { ServiceError } from './service-client.ts';
import { readUpdateFile, type UpdateFile, type UpdateFileEntry } from './update-file.ts';

/** Maximum bytes of a signature's file; minisign's have less than 1 KiB. */
const SIGNATURE_BYTES_MAX = 16 * 1024;
const UPDATE_FILE = /^latest(?:-[a-z0-9-]+)?\.ya?ml$/i;

/** What is found among files. */
export type FoundFiles = {
  readonly artifacts: readonly Artifact[];
  /** Names of the files that devices cannot install. */
  readonly passedOver: readonly string[];
};

/** Hears of each file's progress: bytes that were read, of so many. */
export type Progress = (name: string, read: number, size: number) => void;

/**
 * Reads files, in their order. `addressOf` returns the address of a file by its name, undefined where there
 * is none; an update file of electron-builder (`latest*.yml`) among the files may have it. Rejects with
 * `ServiceError` when a file cannot be read, two have one name, or a file is another than its update file
 * says.
 */
export async function readReleaseFiles(
  paths: readonly string[],
  version: string,
  addressOf: (name: string) => string | undefined,
  onProgress: Progress,
): Promise<FoundFiles> {
  const byName = pathsByName(paths);
  const told = updateFilesAmong(byName, version);
  const targets = classifyAssets([...byName.keys()]);
  const artifacts: Artifact[] = [];
  const passedOver: string[] = [];
  for (const [index, [name, path]] of [...byName].entries()) {
    const target = targets[index];
    if (target === undefined) passedOver.push(name);
    else {
      const entry = told.get(name);
      const url = entry?.url ?? addressOf(name);
      const content = await readContent(path, name, onProgress);
      refuseOther(name, content, entry);
      artifacts.push({
        ...target,
        ...addressPart(name, url),
        ...content,
        ...morePart(path, entry),
      });
    }
  }
  return { artifacts, passedOver };
}

function pathsByName(paths: readonly string[]): ReadonlyMap<string, string> {
  const byName = new Map<string, string>();
  for (const path of paths) {
    const name = basename(path);
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) throw new ServiceError(`no such file: ${path}`);
    if (!stat.isFile()) throw new ServiceError(`not a file: ${path}`);
    const other = byName.get(name);
    if (other !== undefined && other !== path) {
      throw new ServiceError(`two files have the name ${name}: ${other} and ${path}`);
    }
    byName.set(name, path);
  }
  return byName;
}

type Told = UpdateFileEntry & Pick<UpdateFile, 'minimumSystemVersion'> & { readonly from: string };

/** Returns what update files among the files say of others, by the others' names. */
function updateFilesAmong(
  byName: ReadonlyMap<string, string>,
  version: string,
): ReadonlyMap<string, Told> {
  const told = new Map<string, Told>();
  for (const [from, path] of byName) {
    if (!UPDATE_FILE.test(from)) continue;
    const { entries, minimumSystemVersion, version: its } = readUpdateFile(path);
    if (its !== version) throw new ServiceError(`${from} is of version ${its}, not of ${version}`);
    for (const entry of entries) told.set(entry.name, { ...entry, minimumSystemVersion, from });
  }
  return told;
}

type Content = Pick<Artifact, 'size' | 'sha512' | 'sha256' | 'sha1'>;

/** Reads a file once, for its size and its checksums. */
async function readContent(path: string, name: string, onProgress: Progress): Promise<Content> {
  const sha512 = createHash('sha512');
  const sha256 = createHash('sha256');
  // Squirrel and Velopack ask for the SHA-1 of their packages.
  const sha1 = name.toLowerCase().endsWith('.nupkg') ? createHash('sha1') : undefined;
  const expected = statSync(path).size;
  let size = 0;
  try {
    for await (const part of createReadStream(path)) {
      const bytes = part as Buffer;
      for (const hash of [sha512, sha256, sha1]) hash?.update(bytes);
      size += bytes.length;
      onProgress(name, size, expected);
    }
  } catch (error) {
    throw new ServiceError(`cannot read ${path}: ${(error as Error).message}`);
  }
  return {
    size,
    sha512: sha512.digest('base64'),
    sha256: sha256.digest('hex'),
    ...(sha1 === undefined ? {} : { sha1: sha1.digest('hex') }),
  };
}

/** Refuses a file that is another one than its update file was made for. */
function refuseOther(name: string, { sha512, size }: Content, entry: Told | undefined): void {
  if (entry === undefined) return;
  const isOther =
    (entry.sha512 !== undefined && entry.sha512 !== sha512) ||
    (entry.size !== undefined && entry.size !== size);
  if (isOther) {
    throw new ServiceError(`${name} is another file than ${entry.from} says: its content differs`);
  }
}

/** Returns the address, and the format where the address does not tell it as the file's name does. */
function addressPart(name: string, url: string | undefined): Pick<Artifact, 'url' | 'format'> {
  const format = artifactFormat({ url: `file:///${encodeURIComponent(name)}` });
  const isTold = url !== undefined && artifactFormat({ url }) === format;
  return {
    ...(url === undefined ? {} : { url }),
    ...(format === undefined || isTold ? {} : { format }),
  };
}

/** Returns what stands beside a file: its signature, and the system that its update file asks for. */
function morePart(
  path: string,
  entry: Told | undefined,
): Pick<Artifact, 'signature' | 'minimumSystemVersion'> {
  const signature = signatureOf(path);
  const minimumSystemVersion = entry?.minimumSystemVersion;
  return {
    ...(signature === undefined ? {} : { signature }),
    ...(minimumSystemVersion === undefined ? {} : { minimumSystemVersion }),
  };
}

function signatureOf(path: string): string | undefined {
  const beside = `${path}.sig`;
  if (!existsSync(beside)) return undefined;
  if (statSync(beside).size > SIGNATURE_BYTES_MAX) {
    throw new ServiceError(`${beside} is no signature: it has more than 16 KiB`);
  }
  return readFileSync(beside, 'utf8').trim() || undefined;
}
