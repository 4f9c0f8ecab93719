// Last known snapshots as files: one index per channel and one file per release. Writes, and removals among
// them, run one after another, so that none deletes a newer file; a channel that changes while its write
// waits is written once.
//
// A file beside the snapshots names their record. Without it, nothing is written until the record is known,
// because a snapshot may have come from an engine of another record.
//
// Several serving processes may share one data directory. Each writes to its own folder and reads all of
// them, so that none replaces a newer snapshot.

import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServingSnapshot } from '../../domain/decision/serving-snapshot.ts';
import type { DiskSnapshots } from '../disk-snapshots.ts';
import type { ChannelName } from '../engine.ts';
import { compareIndexes } from '../snapshot/snapshot-index.ts';
import {
  ChannelFiles,
  FileFault,
  FOLDER_MODE,
  replaceFile,
  type StoredIndex,
  type WrittenFolder,
} from './channel-files.ts';

const WAITING_MAX = 10_000;
const RETRY_MS = 2000;
/** Maximum number of unusable index paths that are remembered. */
const UNUSABLE_MAX = 20_000;
/** Maximum number of channels whose last write is remembered. */
const WRITTEN_MAX = 10_000;
/** Maximum number of attempts to read a snapshot that another process keeps replacing. */
const READS_MAX = 3;

/** Stands in the queue for the removal of a channel's files. */
const FORGOTTEN = Symbol('forgotten');

/** Folder name of one of several serving processes. */
const WORKER_FOLDER = /^worker-\d{1,2}$/;

const RECORD_FILE = 'record';
const RECORD_NAME = /^rec_[0-9a-z]{26}$/;

export type DiskFault = {
  readonly doing: 'read' | 'write';
  readonly path: string;
  readonly error: unknown;
};

/** Index with the files that it was read from. */
type Kept = StoredIndex & { readonly files: ChannelFiles; readonly path: string };

export class DiskSnapshotFiles implements DiskSnapshots {
  private readonly root: string;
  /** Folder that this process writes to. */
  private readonly directory: string;
  private readonly waiting = new Map<string, ServingSnapshot | typeof FORGOTTEN>();
  /** Whether writes wait until the record is known. */
  private isHeld: boolean;
  private record: string | undefined;
  /** Name of the record that is still to be written to disk. */
  private unwritten: string | undefined;
  private writing: Promise<void> | undefined;
  private retrying: NodeJS.Timeout | undefined;
  /** Modification times of indexes without a usable snapshot, by path, so that each is reported once. */
  private readonly unusable = new Map<string, number>();
  /** Channels by index file name, which is a hash of their names. */
  private readonly listed = new Map<string, ChannelName>();
  /** Paths of damaged files, which the next write replaces. */
  private readonly damaged = new Set<string>();
  /** Last write by index path; replaced by an empty map when damage is found. */
  private written = new Map<string, WrittenFolder>();

  /**
   * Writes to `snapshots/` below `dataDir`, or to a folder in it when `worker` numbers one of several serving
   * processes. Reports disk faults to `onFault` and never throws them. With `isHeld`, writes nothing until
   * the record is known.
   */
  constructor(
    dataDir: string,
    worker: number | undefined,
    private readonly onFault: (fault: DiskFault) => void,
    isHeld = false,
  ) {
    this.isHeld = isHeld;
    this.root = join(dataDir, 'snapshots');
    this.directory = worker === undefined ? this.root : join(this.root, `worker-${worker}`);
  }

  keep(snapshot: ServingSnapshot): void {
    const name = fileName(snapshot.appRef, snapshot.channel);
    if (!this.waiting.has(name) && this.waiting.size >= WAITING_MAX) return;
    this.waiting.set(name, snapshot);
    this.begin();
  }

  async readRecord(): Promise<string | undefined> {
    if (this.record !== undefined) return this.record;
    const folders = [this.directory, this.root, ...(await this.workerFolders())];
    for (const folder of folders) {
      const path = join(folder, RECORD_FILE);
      const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') this.report('read', path, error);
      });
      const record = text?.trim();
      if (record === undefined || !RECORD_NAME.test(record)) continue;
      this.release(record);
      return record;
    }
    return undefined;
  }

  keepRecord(record: string): void {
    const isKept = this.record === record;
    this.release(record);
    if (!isKept) this.unwritten = record;
    this.begin();
  }

  async find(appRef: string, channel: string): Promise<ServingSnapshot | undefined> {
    const name = fileName(appRef, channel);
    const waiting = this.waiting.get(name);
    if (waiting !== undefined) return waiting === FORGOTTEN ? undefined : waiting;
    const directories = [this.root, ...(await this.workerFolders())];
    return this.readNewest(directories.map((each) => join(each, name)));
  }

  forget(appRef: string, channel: string): void {
    const name = fileName(appRef, channel);
    this.listed.delete(name);
    this.waiting.set(name, FORGOTTEN);
    this.begin();
  }

  async list(countMax: number): Promise<readonly ChannelName[]> {
    const directories = [this.root, ...(await this.workerFolders())];
    const names = (await Promise.all(directories.map(namesIn))).flat();
    const listed: ChannelName[] = [];
    // One file at a time, because each may be large.
    for (const name of new Set(names.filter((each) => each.endsWith('.json')))) {
      if (listed.length >= countMax) break;
      const channel =
        this.listed.get(name) ??
        (await this.channelIn(directories.map((directory) => join(directory, name))));
      if (channel === undefined) continue;
      listed.push(channel);
      if (this.listed.size < countMax) this.listed.set(name, channel);
    }
    return listed;
  }

  async hasAny(): Promise<boolean> {
    const directories = [this.root, ...(await this.workerFolders())];
    for (const directory of directories) {
      for (const name of await namesIn(directory)) {
        if (!name.endsWith('.json')) continue;
        const path = join(directory, name);
        const snapshot = await this.unlessUnusable(path, () => this.readNewest([path]));
        if (snapshot !== undefined) return true;
      }
    }
    return false;
  }

  async flush(): Promise<void> {
    while (this.writing !== undefined) await this.writing;
    if (this.retrying === undefined) return;
    // One last attempt to write what a disk fault left waiting.
    clearTimeout(this.retrying);
    this.retrying = undefined;
    this.writing = this.writeAll();
    await this.writing;
  }

  private async workerFolders(): Promise<string[]> {
    const names = await namesIn(this.root);
    return names.filter((name) => WORKER_FOLDER.test(name)).map((name) => join(this.root, name));
  }

  /**
   * Returns the channel of the first usable index among `paths`, which are the copies of one index in the
   * folders of several processes; undefined if none is usable.
   */
  private async channelIn(paths: readonly string[]): Promise<ChannelName | undefined> {
    for (const path of paths) {
      const kept = await this.unlessUnusable(path, () => this.readIndex(path));
      if (kept === undefined) continue;
      const { appId, appRef, channelId, channel } = kept.index.head;
      return { appId, appRef, channelId, channel };
    }
    return undefined;
  }

  /** Returns the result of `read`; undefined, without calling it, if the unchanged file gave none before. */
  private async unlessUnusable<Value>(
    path: string,
    read: () => Promise<Value | undefined>,
  ): Promise<Value | undefined> {
    const writtenAtMs = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => undefined,
    );
    if (writtenAtMs === undefined || this.unusable.get(path) === writtenAtMs) return undefined;
    const value = await read();
    if (value !== undefined) return value;
    if (this.unusable.size >= UNUSABLE_MAX) this.unusable.clear();
    this.unusable.set(path, writtenAtMs);
    return undefined;
  }

  /** Reads the newest complete snapshot of these indexes, which usually belong to one channel. */
  private async readNewest(paths: readonly string[]): Promise<ServingSnapshot | undefined> {
    for (let reads = 1; ; reads++) {
      const kept = await Promise.all(paths.map((path) => this.readIndex(path)));
      const newestFirst = kept.filter((each) => each !== undefined).sort(newerFirst);
      let isIncomplete = false;
      for (const { files, index, path } of newestFirst) {
        const snapshot = await this.withFaults(() => files.readSnapshot(index));
        if (typeof snapshot === 'object') return snapshot;
        // Another process wrote a newer index and removed these releases.
        if (snapshot === undefined) isIncomplete = true;
        if (snapshot === undefined && reads === READS_MAX) {
          this.report('read', path, new Error('releases of the index are not there'));
        }
      }
      if (!isIncomplete || reads === READS_MAX) return undefined;
    }
  }

  private async readIndex(path: string): Promise<Kept | undefined> {
    const files = new ChannelFiles(path);
    const stored = await this.withFaults(() => files.readIndex());
    return typeof stored === 'object' ? { ...stored, files, path } : undefined;
  }

  /** Returns the result of `read`; reports an unusable file and returns 'damaged'. */
  private async withFaults<Value>(read: () => Promise<Value>): Promise<Value | 'damaged'> {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof FileFault)) throw error;
      if (this.damaged.size >= UNUSABLE_MAX) this.damaged.clear();
      this.damaged.add(error.path);
      // A write in progress puts its result into the old map, which nobody reads.
      this.written = new Map();
      this.report('read', error.path, error.cause);
      return 'damaged';
    }
  }

  private report(doing: DiskFault['doing'], path: string, error: unknown): void {
    this.onFault({ doing, path, error });
  }

  /** Removes the files of a channel from the folders of all processes. */
  private async remove(name: string): Promise<void> {
    for (const directory of [this.root, ...(await this.workerFolders())]) {
      // A new channel has this name, and its snapshot waits to be written.
      if (this.waiting.has(name)) return;
      const path = join(directory, name);
      this.written.delete(path);
      await new ChannelFiles(path).remove().catch((error) => this.report('write', path, error));
    }
  }

  /** Allows writes, because the record is known to which the snapshots belong. */
  private release(record: string): void {
    this.record = record;
    this.isHeld = false;
  }

  private begin(): void {
    if (!this.isHeld) this.writing ??= this.writeAll();
  }

  private async writeAll(): Promise<void> {
    let next: ReturnType<typeof this.take>;
    try {
      await mkdir(this.directory, { recursive: true, mode: FOLDER_MODE });
      await this.writeRecord();
      for (next = this.take(); next !== undefined; next = this.take()) {
        const [name, snapshot] = next;
        await (snapshot === FORGOTTEN ? this.remove(name) : this.write(name, snapshot));
        await this.writeRecord();
      }
    } catch (error) {
      if (next !== undefined && !this.waiting.has(next[0])) this.waiting.set(next[0], next[1]);
      const path = next === undefined ? this.directory : join(this.directory, next[0]);
      this.report('write', error instanceof FileFault ? error.path : path, error);
      this.retry();
    } finally {
      this.writing = undefined;
    }
  }

  /** Schedules another attempt, because a full disk may get space again. */
  private retry(): void {
    this.retrying ??= setTimeout(() => {
      this.retrying = undefined;
      this.begin();
    }, RETRY_MS).unref();
  }

  private take(): [string, ServingSnapshot | typeof FORGOTTEN] | undefined {
    const next = this.waiting.entries().next().value;
    if (next !== undefined) this.waiting.delete(next[0]);
    return next;
  }

  private async writeRecord(): Promise<void> {
    const { unwritten } = this;
    if (unwritten === undefined) return;
    await replaceFile(join(this.directory, RECORD_FILE), `${unwritten}\n`);
    this.unwritten = undefined;
  }

  private async write(name: string, snapshot: ServingSnapshot): Promise<void> {
    const path = join(this.directory, name);
    const { written } = this;
    const last = written.get(path);
    // Removed first: after a fault the content of the folder is unknown.
    written.delete(path);
    const now = await new ChannelFiles(path).write(snapshot, last, this.damaged);
    if (written.size >= WRITTEN_MAX) written.clear();
    written.set(path, now);
  }
}

/** Orders the newer index first: by snapshot order for one channel, by write time if two shared a name. */
function newerFirst(a: Kept, b: Kept): number {
  return a.index.head.channelId === b.index.head.channelId
    ? compareIndexes(b.index, a.index)
    : b.writtenAtMs - a.writtenAtMs;
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch {
    return [];
  }
}

/** Returns a channel's file name: a hash, because some file systems ignore the case of names. */
function fileName(appRef: string, channel: string): string {
  return `${createHash('sha256').update(`${appRef}/${channel}`).digest('hex').slice(0, 40)}.json`;
}
