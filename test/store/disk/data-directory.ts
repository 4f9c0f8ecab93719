// A data directory with files of last known snapshots, for their tests.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DiskFault, DiskSnapshotFiles } from '../../../src/store/disk/disk-snapshot-files.ts';

const leftovers: string[] = [];

/** Removes the directories of the tests so far. */
export function removeDirectories(): void {
  for (const directory of leftovers.splice(0)) rmSync(directory, { recursive: true, force: true });
}

/**
 * Creates a data directory with its snapshot files; `open` opens it as a process of that number would,
 * `again` as the next process, and `names` lists the indexes.
 */
export function dataDirectory() {
  const path = mkdtempSync(join(tmpdir(), 'sluice-last-good-'));
  leftovers.push(path);
  const snapshots = join(path, 'snapshots');
  const faults: DiskFault[] = [];
  const names = () => readdirSync(snapshots).filter((name) => !name.endsWith('.releases'));
  const open = (worker?: number) =>
    new DiskSnapshotFiles(path, worker, (fault) => faults.push(fault));
  return { path, snapshots, faults, open, again: () => open(), files: open(), names };
}
