// What the disk refuses, or has lost, of what is served while no store answers.

import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { RareLog } from '../observe/rare-log.ts';
import type { DiskFault } from '../store/disk/last-good-files.ts';

/** Returns a listener that counts faults of the disk, and logs them now and then. */
export function tellDiskFaults(metrics: Metrics, log: Log): (fault: DiskFault) => void {
  const rareLog = new RareLog(log);
  return ({ doing, path, error }) => {
    metrics.faults.add('disk');
    const message =
      doing === 'read'
        ? 'last known state on disk could not be read'
        : 'last known state could not be written to disk';
    rareLog.warn({ err: error, file: path }, message);
  };
}
