// Files of one channel in one folder: the index of its snapshot, and beside it a folder with a file for each
// release. A release is written once; those that no index names any more are removed. Every file is sealed,
// so that damage shows.

import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EditionFinder } from '../../domain/decision/edition-finder.ts';
import type { ServingSnapshot } from '../../domain/decision/serving-snapshot.ts';
import { TimeSlice } from '../../flow/time-slice.ts';
import {
  assembleSnapshot,
  MalformedIndex,
  MalformedRelease,
} from '../snapshot/assemble-snapshot.ts';
import {
  indexText,
  parseIndex,
  releaseText,
  type SnapshotIndex,
  writeIndex,
} from '../snapshot/snapshot-index.ts';

/** What a process wrote to a folder last. */
export type WrittenFolder = {
  readonly editions: readonly string[];
  /** Time of the last change of the folder, which is another one once anybody adds or removes a file. */
  readonly changedAtMs: number;
};

/** Index as it was read from the disk. */
export type StoredIndex = { readonly index: SnapshotIndex; readonly writtenAtMs: number };

/**
 * Version of the file format. Raise it when the shape of an index or a release changes; files of another
 * format are ignored.
 */
const FORMAT = 3;
/** Maximum number of files that are open at a time. */
const OPEN_MAX = 32;

export class ChannelFiles {
  private readonly indexPath: string;
  private readonly folder: string;

  /** `indexPath` ends on `.json`. Nothing is read or written yet. */
  constructor(indexPath: string) {
    this.indexPath = indexPath;
    this.folder = `${indexPath.slice(0, -'.json'.length)}.releases`;
  }

  /**
   * Reads the index; undefined when there is none in this format. Rejects with a `FileFault` when it is
   * damaged or cannot be read.
   */
  async readIndex(): Promise<StoredIndex | undefined> {
    const text = await readText(this.indexPath);
    const content = text === undefined ? undefined : unseal(this.indexPath, text);
    if (content === undefined) return undefined;
    const index = parseIndex(content);
    if (index === undefined) throw new FileFault(this.indexPath, 'the content is not an index');
    return { index, writtenAtMs: await timeOfWriting(this.indexPath) };
  }

  /**
   * Reads the snapshot of an index; undefined when a release is not there. Rejects with a `FileFault` when
   * one is damaged or cannot be read.
   */
  async readSnapshot(index: SnapshotIndex): Promise<ServingSnapshot | undefined> {
    try {
      return await assembleSnapshot(index, undefined, (editions) => this.readReleases(editions));
    } catch (error) {
      if (error instanceof MalformedIndex) throw new FileFault(this.indexPath, error);
      if (error instanceof MalformedRelease) throw new FileFault(this.pathOf(error.edition), error);
      throw error;
    }
  }

  /**
   * Writes a snapshot: the releases that are not there yet, then the index; then it removes releases that the
   * index does not name. `last` is what this process wrote last, and the call returns what it wrote; only one
   * process may write to a folder. Without it, or when somebody else has changed the folder, the folder is
   * looked at, and files at the `damaged` paths are written again.
   */
  async write(
    snapshot: ServingSnapshot,
    last: WrittenFolder | undefined,
    damaged: Set<string>,
  ): Promise<WrittenFolder> {
    const changedAtMs = await timeOfWriting(this.folder);
    const isAsLeft = last !== undefined && changedAtMs > 0 && changedAtMs === last.changedAtMs;
    const before = isAsLeft ? last.editions : [];
    const present = isAsLeft ? undefined : await this.list();
    const finder = new EditionFinder(before, (edition) => edition);
    const slice = new TimeSlice();
    for (const [place, release] of snapshot.releases.entries()) {
      if (finder.find(release.edition, place) !== undefined) continue;
      const path = this.pathOf(release.edition);
      const isThere = present?.has(fileOf(release.edition)) === true && !damaged.delete(path);
      if (!isThere) await writeSealed(path, releaseText(release));
      if (slice.isOver) await slice.pause();
    }
    await writeSealed(this.indexPath, indexText(writeIndex(snapshot)));
    const editions = snapshot.releases.map(({ edition }) => edition);
    const wanted = new EditionFinder(editions, (edition) => edition);
    const gone = before.filter((edition, place) => !wanted.find(edition, place));
    await this.removeFiles(gone.map(fileOf));
    if (present !== undefined) await this.removeOthers(snapshot, present);
    return { editions, changedAtMs: await timeOfWriting(this.folder) };
  }

  /** Lists the files of releases by name, and makes their folder if need be. */
  private async list(): Promise<ReadonlySet<string>> {
    await mkdir(this.folder, { recursive: true, mode: FOLDER_MODE });
    return new Set(await readdir(this.folder));
  }

  /** Removes those of the files that are of no release of the snapshot. */
  private async removeOthers(
    { releases }: ServingSnapshot,
    names: ReadonlySet<string>,
  ): Promise<void> {
    const wanted = new Set(releases.map(({ edition }) => fileOf(edition)));
    await this.removeFiles([...names].filter((name) => !wanted.has(name)));
  }

  private async removeFiles(names: readonly string[]): Promise<void> {
    for (const name of names) await rm(join(this.folder, name), { force: true });
  }

  /** Removes the index, then the releases. */
  async remove(): Promise<void> {
    await rm(this.indexPath, { force: true });
    await rm(this.folder, { recursive: true, force: true });
  }

  private async readReleases(
    editions: readonly string[],
  ): Promise<readonly (string | undefined)[]> {
    const texts: (string | undefined)[] = [];
    for (let from = 0; from < editions.length; from += OPEN_MAX) {
      const some = editions.slice(from, from + OPEN_MAX);
      texts.push(...(await Promise.all(some.map((each) => this.readRelease(each)))));
    }
    return texts;
  }

  private async readRelease(edition: string): Promise<string | undefined> {
    const path = this.pathOf(edition);
    const text = await readText(path);
    if (text === undefined) return undefined;
    const content = unseal(path, text);
    if (content === undefined)
      throw new FileFault(path, 'the file has another format than its name');
    return content;
  }

  private pathOf(edition: string): string {
    return join(this.folder, fileOf(edition));
  }
}

/** Error with the path of the file that cannot be used. */
export class FileFault extends Error {
  readonly path: string;

  constructor(path: string, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'FileFault';
    this.path = path;
  }
}

/** Returns a file's name with its format: what an older version wrote is not there, and is removed. */
function fileOf(edition: string): string {
  return `${edition}.${FORMAT}.json`;
}

/** Reads a file; undefined when there is none. */
async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new FileFault(path, error);
  }
}

/** Returns the content of a file; undefined when it has another format. */
function unseal(path: string, text: string): string | undefined {
  try {
    return openSealedFile(FORMAT, text);
  } catch (error) {
    throw new FileFault(path, error);
  }
}

/** Returns milliseconds since the epoch; 0 when the file is gone. */
async function timeOfWriting(path: string): Promise<number> {
  return stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
}

async function writeSealed(path: string, content: string): Promise<void> {
  try {
    await replaceFile(path, sealFile(FORMAT, content));
  } catch (error) {
    throw new FileFault(path, error);
  }
}

// Form of the files that a node keeps on its disk: a line with the format and the checksum of what follows,
// then the content. A file that was cut off, damaged or changed by hand is recognised and not believed.

/** Returns the text of a file with this content. */
export function sealFile(format: number, content: string): string {
  return `${JSON.stringify({ format, sha256: checksumOf(content) })}\n${content}`;
}

/**
 * Returns the content of a file; undefined when the file has another format. Throws when the file is damaged:
 * its first line is no head, or its content is not the one that was written.
 */
function openSealedFile(format: number, text: string): string | undefined {
  const end = text.indexOf('\n');
  const head = readHead(end === -1 ? text : text.slice(0, end));
  if (head.format !== format) return undefined;
  const content = text.slice(end + 1);
  if (end === -1 || head.sha256 !== checksumOf(content)) {
    throw new Error('the content does not have the checksum that the file names');
  }
  return content;
}

type Head = { readonly format?: unknown; readonly sha256?: unknown };

function readHead(line: string): Head {
  const head: unknown = JSON.parse(line);
  if (typeof head !== 'object' || head === null || !('format' in head)) {
    throw new Error('the file names no format');
  }
  return head;
}

function checksumOf(content: string): string {
  return createHash('sha256').update(content).digest('hex');
}

// Files that are replaced as a whole, and whom they are for.

/**
 * Writes a file beside the one that it replaces, and renames it: a reader finds the old one or the new one.
 * Only one process writes to a folder, so a draft that a crash left behind is overwritten.
 */
export async function replaceFile(path: string, content: string): Promise<void> {
  const draft = `${path}.draft`;
  await writeFile(draft, content, { mode: FILE_MODE });
  await rename(draft, path);
}

/** Mode of every folder: its owner may use it, and nobody else. */
export const FOLDER_MODE = 0o700;

/** Mode of every file, likewise. */
export const FILE_MODE = 0o600;
