// Files of one channel's snapshot: an index, and a folder beside it with one file per release edition. An
// edition is written once and removed when no index names it any more. Every file is sealed, so that damage
// is detected.

import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EditionFinder } from '../../domain/decision/artifact/edition-finder.ts';
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

/** What this process last wrote to a folder. */
export type WrittenFolder = {
  readonly editions: readonly string[];
  /** Modification time of the folder; it changes when any process adds or removes a file. */
  readonly changedAtMs: number;
};

export type StoredIndex = { readonly index: SnapshotIndex; readonly writtenAtMs: number };

/**
 * Version of the file format; other formats are ignored. Raise it when a node of the version before could not
 * use a file: one that is started again after an upgrade would know nothing.
 */
const FORMAT = 3;
/**
 * Field of every index but those of 0.3.0 and before. Their files of releases lack numbers, by which devices
 * know actions, so they count as none here; nodes of 0.3.0 pass over what they do not know.
 */
const NUMBERED = '"ddiAuth":';
/** Maximum number of files open at a time. */
const OPEN_MAX = 32;

export class ChannelFiles {
  private readonly folder: string;

  /** `indexPath` ends in `.json`. */
  constructor(private readonly indexPath: string) {
    this.folder = `${indexPath.slice(0, -'.json'.length)}.releases`;
  }

  /** Reads the index; undefined if none has this format. Rejects with a `FileFault` if it is unusable. */
  async readIndex(): Promise<StoredIndex | undefined> {
    const text = await readText(this.indexPath);
    const content = text === undefined ? undefined : unseal(this.indexPath, text);
    if (content === undefined) return undefined;
    const index = parseIndex(content);
    if (index === undefined) throw new FileFault(this.indexPath, 'the content is not an index');
    if (!content.includes(NUMBERED)) return undefined;
    return { index, writtenAtMs: await timeOfWriting(this.indexPath) };
  }

  /** Reads the index's snapshot; undefined if a release is missing. Rejects with a `FileFault` if damaged. */
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
   * Writes a snapshot: first the missing releases, then the index; then removes the releases that the index
   * does not name. Only one process may write to a folder. `last` is the result of this process's previous
   * write; without it, or when the folder has changed since, the folder is listed and the files at the
   * `damaged` paths are rewritten.
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
    const isUsable = isAsLeft || (await this.hasNumbers());
    const finder = new EditionFinder(before, (edition) => edition);
    const slice = new TimeSlice();
    for (const [place, release] of snapshot.releases.entries()) {
      if (finder.find(release.edition, place) !== undefined) continue;
      const path = this.pathOf(release.edition);
      const isThere = present?.has(fileOf(release.edition)) === true && !damaged.delete(path);
      if (!isThere || !isUsable) await writeSealed(path, releaseText(release));
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

  /** Returns whether the files of releases have their numbers. */
  private async hasNumbers(): Promise<boolean> {
    const text = await readText(this.indexPath).catch(() => undefined);
    return text?.includes(NUMBERED) === true;
  }

  /** Lists the names of release files; creates their folder if needed. */
  private async list(): Promise<ReadonlySet<string>> {
    await mkdir(this.folder, { recursive: true, mode: FOLDER_MODE });
    return new Set(await readdir(this.folder));
  }

  /** Removes the files that belong to no release of the snapshot. */
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

/** Error of an unusable file, with its path. */
export class FileFault extends Error {
  readonly path: string;

  constructor(path: string, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'FileFault';
    this.path = path;
  }
}

/** Returns the file name with its format: files of an older version are not found, and get removed. */
function fileOf(edition: string): string {
  return `${edition}.${FORMAT}.json`;
}

/** Reads a file; undefined if it does not exist. */
async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new FileFault(path, error);
  }
}

function unseal(path: string, text: string): string | undefined {
  try {
    return openSealedFile(FORMAT, text);
  } catch (error) {
    throw new FileFault(path, error);
  }
}

/** Returns the modification time in milliseconds since 1970; 0 if the file does not exist. */
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

// Sealed files: a line with the format and the checksum of the content, then the content. So a node detects
// files that were truncated, damaged or edited.

/** Returns the text of a sealed file. */
export function sealFile(format: number, content: string): string {
  return `${JSON.stringify({ format, sha256: checksumOf(content) })}\n${content}`;
}

/** Returns the content of a sealed file; undefined if it has another format. Throws when it is damaged. */
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

/**
 * Replaces a file by writing a draft beside it and renaming that: a reader finds the old file or the new one.
 * Only one process writes to a folder, so a draft left by a crash is overwritten.
 */
export async function replaceFile(path: string, content: string): Promise<void> {
  const draft = `${path}.draft`;
  await writeFile(draft, content, { mode: FILE_MODE });
  await rename(draft, path);
}

/** Mode of every folder: only its owner may use it. */
export const FOLDER_MODE = 0o700;

/** Mode of every file: only its owner may read or write it. */
export const FILE_MODE = 0o600;
