// Last good snapshots as files, one per channel, each replaced as a whole. Writes go one after another and
// a channel that changes while its write waits is written once, so a burst of changes costs little.

import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServingSnapshot } from '../../domain/serving-snapshot.ts';
import type { LastGood } from '../../ports/last-good.ts';

/** Grows when the shape of a snapshot changes; a file of another format is left alone. */
const FORMAT = 1;
const WAITING_MAX = 10_000;
const RETRY_MS = 2000;

export class LastGoodFiles implements LastGood {
  private readonly directory: string;
  private readonly onFault: (error: unknown) => void;
  private readonly waiting = new Map<string, ServingSnapshot>();
  private writing: Promise<void> | undefined;
  private retrying: NodeJS.Timeout | undefined;

  /** Files go to `snapshots/` below `dataDir`; faults of the disk are reported, never thrown. */
  constructor(dataDir: string, onFault: (error: unknown) => void) {
    this.directory = join(dataDir, 'snapshots');
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
    try {
      const text = await readFile(join(this.directory, name), 'utf8');
      const file = JSON.parse(text) as { format?: number; snapshot?: ServingSnapshot };
      return file.format === FORMAT ? file.snapshot : undefined;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.onFault(error);
      return undefined;
    }
  }

  async hasAny(): Promise<boolean> {
    try {
      return (await readdir(this.directory)).some((name) => name.endsWith('.json'));
    } catch {
      return false;
    }
  }

  async flush(): Promise<void> {
    while (this.writing !== undefined) await this.writing;
    if (this.retrying === undefined) return;
    // The last chance of what a disk fault left waiting.
    clearTimeout(this.retrying);
    this.retrying = undefined;
    this.writing = this.writeAll();
    await this.writing;
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

  /** What could not be written is still waiting: a disk that was full may have room again. */
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
    // One process per data directory: a draft left by a crash is overwritten, not collected.
    const draft = `${path}.draft`;
    await writeFile(draft, JSON.stringify({ format: FORMAT, snapshot }));
    await rename(draft, path);
  }
}

/** Hashed, so that names which differ only by case stay two files on any file system. */
function fileName(appRef: string, channel: string): string {
  return `${createHash('sha256').update(`${appRef}/${channel}`).digest('hex').slice(0, 40)}.json`;
}
