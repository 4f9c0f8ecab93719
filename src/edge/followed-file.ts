// The newest accepted index of an edge on its disk, with what proves it: an edge that starts knows from it
// which names there are, and accepts nothing that is older, also after a restart.

import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

export type KeptIndex = { readonly bytes: Buffer; readonly proof: string };

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

export class FollowedFile {
  private readonly path: string;
  private readonly onFault: (error: unknown) => void;
  private next: KeptIndex | undefined;
  private writing: Promise<void> | undefined;

  /** `onFault` is told what the disk refuses; the index of a moment later is written all the same. */
  constructor(path: string, onFault: (error: unknown) => void) {
    this.path = path;
    this.onFault = onFault;
  }

  /** Reads the file; undefined when there is none. Rejects when it cannot be read. */
  async read(): Promise<KeptIndex | undefined> {
    let content: Buffer;
    try {
      content = await readFile(this.path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
    const end = content.indexOf('\n');
    const proof = content.toString('latin1', 0, Math.max(0, end));
    return { proof, bytes: content.subarray(end + 1) };
  }

  /** Schedules a write; of several before it begins, the last counts. */
  keep(index: KeptIndex): void {
    this.next = index;
    this.writing ??= this.writeAll().finally(() => {
      this.writing = undefined;
    });
  }

  /** Waits until what was scheduled is written, or refused. */
  async flush(): Promise<void> {
    while (this.writing !== undefined) await this.writing;
  }

  private async writeAll(): Promise<void> {
    for (let index = this.next; index !== undefined; index = this.next) {
      this.next = undefined;
      await this.write(index).catch((error: unknown) => this.onFault(error));
    }
  }

  /** Writes beside the file and renames: a reader finds the old one or the new one. */
  private async write({ bytes, proof }: KeptIndex): Promise<void> {
    await mkdir(dirname(this.path), { recursive: true, mode: FOLDER_MODE });
    const draft = `${this.path}.new`;
    const file = await open(draft, 'w', FILE_MODE);
    try {
      await file.writeFile(Buffer.concat([Buffer.from(`${proof}\n`), bytes]));
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(draft, this.path);
  }
}
