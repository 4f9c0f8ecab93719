// Last known snapshots as files, one per channel, each replaced as a whole. Writes run one after another, and
// a channel that changes while its write waits is written once, so a burst of changes costs little.
//
// Several serving processes on one data directory each write files of their own, so that none replaces a
// newer snapshot by an older one. All of them read the files of all: the newest one counts.

import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseSnapshot } from '../../domain/decision/parse-snapshot.ts';
import { compareSnapshots } from '../../domain/decision/serving-order.ts';
import type { ServingSnapshot } from '../../domain/decision/serving-snapshot.ts';
import type { ChannelName } from '../../ports/channel-names.ts';
import type { LastGood } from '../../ports/last-good.ts';
import { openSealedFile, sealFile } from './seal-file.ts';

/**
 * Version of the file format. Raise it when the shape of a snapshot changes; files of another format are
 * ignored.
 */
const FORMAT = 2;
const WAITING_MAX = 10_000;
const RETRY_MS = 2000;
/** Maximum number of unusable files that are remembered. */
const UNUSABLE_MAX = 20_000;
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** Name of the folder of one of several serving processes, beside the files of a single process. */
const WORKER_FOLDER = /^worker-\d{1,2}$/;

/** Fault of the disk, or a file that is damaged. */
export type DiskFault = {
  readonly doing: 'read' | 'write';
  /** Path of the file or folder. */
  readonly path: string;
  readonly error: unknown;
};

type Kept = { readonly snapshot: ServingSnapshot; readonly writtenAtMs: number };

export class LastGoodFiles implements LastGood {
  private readonly root: string;
  /** Folder that this process writes to. */
  private readonly directory: string;
  private readonly onFault: (fault: DiskFault) => void;
  private readonly waiting = new Map<string, ServingSnapshot>();
  private writing: Promise<void> | undefined;
  private retrying: NodeJS.Timeout | undefined;
  /** Times of writing of files that hold no usable snapshot, by path: each is read and reported once. */
  private readonly unusable = new Map<string, number>();
  /** Channels by the names of their files, which are made from the names of the channels. */
  private readonly listed = new Map<string, ChannelName>();

  /**
   * Writes to `snapshots/` below `dataDir`, or to a folder in it when `worker` numbers one of several serving
   * processes. Disk faults are reported to `onFault`, never thrown.
   */
  constructor(dataDir: string, worker: number | undefined, onFault: (fault: DiskFault) => void) {
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

  async list(countMax: number): Promise<readonly ChannelName[]> {
    const directories = [this.root, ...(await this.workerFolders())];
    const names = (await Promise.all(directories.map(namesIn))).flat();
    const listed: ChannelName[] = [];
    // One file after the other, because each may be large.
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
        if ((await this.readUsable(join(directory, name))) !== undefined) return true;
      }
    }
    return false;
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

  /** Returns the channel of these files, all of one name; undefined when none holds a usable snapshot. */
  private async channelIn(paths: readonly string[]): Promise<ChannelName | undefined> {
    for (const path of paths) {
      const kept = await this.readUsable(path);
      if (kept === undefined) continue;
      const { appId, appRef, channelId, channel } = kept.snapshot;
      return { appId, appRef, channelId, channel };
    }
    return undefined;
  }

  /** Reads a file, unless it held no usable snapshot when it was read last. */
  private async readUsable(path: string): Promise<Kept | undefined> {
    const writtenAtMs = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => undefined,
    );
    if (writtenAtMs === undefined || this.unusable.get(path) === writtenAtMs) return undefined;
    const kept = await this.read(path);
    if (kept !== undefined) return kept;
    if (this.unusable.size >= UNUSABLE_MAX) this.unusable.clear();
    this.unusable.set(path, writtenAtMs);
    return undefined;
  }

  private async read(path: string): Promise<Kept | undefined> {
    try {
      const [text, { mtimeMs }] = await Promise.all([readFile(path, 'utf8'), stat(path)]);
      const content = openSealedFile(FORMAT, text);
      if (content === undefined) return undefined;
      const snapshot = parseSnapshot(JSON.parse(content));
      if (snapshot === undefined) throw new Error('the content is not a snapshot');
      return { snapshot, writtenAtMs: mtimeMs };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
        this.onFault({ doing: 'read', path, error });
      }
      return undefined;
    }
  }

  private async writeAll(): Promise<void> {
    let next: [string, ServingSnapshot] | undefined;
    try {
      await mkdir(this.directory, { recursive: true, mode: FOLDER_MODE });
      for (next = this.take(); next !== undefined; next = this.take()) {
        await this.write(next[0], next[1]);
      }
    } catch (error) {
      if (next !== undefined && !this.waiting.has(next[0])) this.waiting.set(next[0], next[1]);
      const path = next === undefined ? this.directory : join(this.directory, next[0]);
      this.onFault({ doing: 'write', path, error });
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
    await writeFile(draft, sealFile(FORMAT, JSON.stringify(snapshot)), { mode: FILE_MODE });
    await rename(draft, path);
  }
}

/**
 * Returns the newer of two files: by their order for the same channel, by time of writing for two channels
 * that shared a name.
 */
function newerOf(one: Kept | undefined, other: Kept | undefined): Kept | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const [a, b] = [one.snapshot, other.snapshot];
  const ahead =
    a.channelId === b.channelId ? compareSnapshots(b, a) : other.writtenAtMs - one.writtenAtMs;
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
