// Last known snapshots as files, one per channel, each replaced as a whole. Writes run one after another, and
// a channel that changes while its write waits is written once, so a burst of changes costs little.
//
// Several serving processes on one data directory each write files of their own, so that none replaces a
// newer snapshot by an older one. All of them read the files of all: the newest one counts.

import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { countOffered, type ServingSnapshot } from '../../domain/decision/serving-snapshot.ts';
import type { LastGood } from '../../ports/last-good.ts';

/**
 * Version of the file format. Raise it when the shape of a snapshot changes; files of another format are
 * ignored.
 */
const FORMAT = 1;
const WAITING_MAX = 10_000;
const RETRY_MS = 2000;

/** Name of the folder of one of several serving processes, beside the files of a single process. */
const WORKER_FOLDER = /^worker-\d{1,2}$/;

type Kept = { readonly snapshot: ServingSnapshot; readonly writtenAtMs: number };

export class LastGoodFiles implements LastGood {
  private readonly root: string;
  /** Folder that this process writes to. */
  private readonly directory: string;
  private readonly onFault: (error: unknown) => void;
  private readonly waiting = new Map<string, ServingSnapshot>();
  private writing: Promise<void> | undefined;
  private retrying: NodeJS.Timeout | undefined;

  /**
   * Writes to `snapshots/` below `dataDir`, or to a folder in it when `worker` numbers one of several serving
   * processes. Disk faults are reported to `onFault`, never thrown.
   */
  constructor(dataDir: string, worker: number | undefined, onFault: (error: unknown) => void) {
    this.root = join(dataDir, 'snapshots');
    this.directory = worker === undefined ? this.root : join(this.root, `worker-${worker}`);
    this.onFault = onFault;
  }

  keep(snapshot: ServingSnapshot): void {
    const name = fileName(snapshot.appRef, snapshot.channel);
    if (!this.waiting.has(name) && this.waiting.size >= WAITING_MAX) return;
    this.waiting.set(name, snapshot);
    this.writing ??= this.writeAll();
  }

  async find(appRef: string, channel: string): Promise<ServingSnapshot | undefined> {
    const name = fileName(appRef, channel);
    const waiting = this.waiting.get(name);
    if (waiting !== undefined) return waiting;
    const directories = [this.root, ...(await this.workerFolders())];
    const kept = await Promise.all(directories.map((each) => this.read(join(each, name))));
    return kept.reduce((newest, each) => newerOf(newest, each), undefined)?.snapshot;
  }

  async hasAny(): Promise<boolean> {
    const directories = [this.root, ...(await this.workerFolders())];
    const names = await Promise.all(directories.map(namesIn));
    return names.flat().some((name) => name.endsWith('.json'));
  }

  async flush(): Promise<void> {
    while (this.writing !== undefined) await this.writing;
    if (this.retrying === undefined) return;
    // Last attempt to write the snapshots that a disk fault left waiting.
    clearTimeout(this.retrying);
    this.retrying = undefined;
    this.writing = this.writeAll();
    await this.writing;
  }

  private async workerFolders(): Promise<string[]> {
    const names = await namesIn(this.root);
    return names.filter((name) => WORKER_FOLDER.test(name)).map((name) => join(this.root, name));
  }

  private async read(path: string): Promise<Kept | undefined> {
    try {
      const [text, { mtimeMs }] = await Promise.all([readFile(path, 'utf8'), stat(path)]);
      const file = JSON.parse(text) as { format?: number; snapshot?: ServingSnapshot };
      if (file.format !== FORMAT || file.snapshot === undefined) return undefined;
      return { snapshot: file.snapshot, writtenAtMs: mtimeMs };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.onFault(error);
      return undefined;
    }
  }

  private async writeAll(): Promise<void> {
    let next: [string, ServingSnapshot] | undefined;
    try {
      await mkdir(this.directory, { recursive: true });
      for (next = this.take(); next !== undefined; next = this.take()) {
        await this.write(next[0], next[1]);
      }
    } catch (error) {
      if (next !== undefined && !this.waiting.has(next[0])) this.waiting.set(next[0], next[1]);
      this.onFault(error);
      this.retry();
    } finally {
      this.writing = undefined;
    }
  }

  /** Schedules another attempt: a full disk may have room again. */
  private retry(): void {
    this.retrying ??= setTimeout(() => {
      this.retrying = undefined;
      this.writing ??= this.writeAll();
    }, RETRY_MS).unref();
  }

  private take(): [string, ServingSnapshot] | undefined {
    const next = this.waiting.entries().next().value;
    if (next !== undefined) this.waiting.delete(next[0]);
    return next;
  }

  private async write(name: string, snapshot: ServingSnapshot): Promise<void> {
    const path = join(this.directory, name);
    // Only one process writes to a folder, so a draft that a crash left behind is overwritten.
    const draft = `${path}.draft`;
    await writeFile(draft, JSON.stringify({ format: FORMAT, snapshot }));
    await rename(draft, path);
  }
}

/**
 * Returns the newer of two files: by revision for the same channel, by time of writing for two channels that
 * shared a name.
 */
function newerOf(one: Kept | undefined, other: Kept | undefined): Kept | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const [a, b] = [one.snapshot, other.snapshot];
  const ahead =
    a.channelId === b.channelId
      ? b.revision - a.revision || countOffered(b) - countOffered(a)
      : other.writtenAtMs - one.writtenAtMs;
  return ahead > 0 ? other : one;
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch {
    return [];
  }
}

/**
 * File name of a channel. Hashed, so that names which differ only by case are two files on every file system.
 */
function fileName(appRef: string, channel: string): string {
  return `${createHash('sha256').update(`${appRef}/${channel}`).digest('hex').slice(0, 40)}.json`;
}
