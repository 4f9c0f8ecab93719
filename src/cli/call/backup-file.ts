// File of a backup: the copy that the service made, packed by the system's `tar`, and readable by its owner
// only.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { open, rm, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from './service-client.ts';

export type Backup = { readonly file: string; readonly bytes: number };

/**
 * Asks for a copy and packs it into a new file (mode 0600), to be unpacked into an empty DATA_DIR. Removes
 * the copy, and an incomplete file. Rejects with `ServiceError`, without asking, when the file exists.
 */
export async function backupFile(
  path: string,
  makeCopy: () => Promise<{ readonly directory: string }>,
): Promise<Backup> {
  const file = resolve(path);
  const handle = await open(file, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === 'EEXIST' ? 'is there already' : `cannot be made (${error.code})`;
    throw new ServiceError(`${file} ${reason}`);
  });
  try {
    const { directory } = await makeCopy();
    refuseOther(directory);
    try {
      await pack(directory, handle.createWriteStream());
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
    return { file, bytes: (await stat(file)).size };
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
}

/** Throws unless a directory is a copy: it will be removed, and the answer that named it may be forged. */
function refuseOther(directory: string): void {
  const isNamedSo = basename(directory) === 'backup';
  if (isNamedSo && !existsSync(directory)) {
    throw new ServiceError(`${directory} cannot be read: run this where the service runs`);
  }
  if (!isNamedSo || !existsSync(join(directory, 'ledger.copy'))) {
    throw new ServiceError(`${directory} is no copy of a ledger: what answered is not the service`);
  }
}

async function pack(directory: string, file: NodeJS.WritableStream): Promise<void> {
  const tar = spawn('tar', ['-C', directory, '-czf', '-', '.'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(tar, 'close');
  try {
    const [[code]] = await Promise.all([ended, pipeline(tar.stdout, file)]);
    if (code !== 0) throw new Error(`code ${code}`);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ServiceError(`the copy could not be packed by tar (${reason})`);
  }
}
