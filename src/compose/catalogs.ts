// Assembly of the catalogs of a process: where they are kept, and what keeps them up to date.

import { CatalogRefresher } from '../background/catalog-refresher.ts';
import { KnownChannelsPoll } from '../background/known-channels-poll.ts';
import type { Config } from '../config.ts';
import { LastGoodFiles } from '../engine/disk/last-good-files.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { RareLog } from '../observe/rare-log.ts';
import { Catalogs } from '../operations/serving/catalogs.ts';
import { KnownChannels } from '../operations/serving/known-channels.ts';
import type { LastGood } from '../ports/last-good.ts';
import type { Stores } from './stores.ts';

export type CatalogParts = {
  readonly known: KnownChannels;
  readonly knownPoll: KnownChannelsPoll;
  readonly catalogs: Catalogs;
  readonly lastGood: LastGood;
  readonly refresher: CatalogRefresher;
};

export type CatalogOptions = {
  readonly config: Config;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly stores: Stores;
  /**
   * Process that holds them: the number of one of several serving processes, undefined for a single one, or
   * `admin`, which reads the snapshots on disk and writes none.
   */
  readonly holder: number | 'admin' | undefined;
};

/** Builds the catalogs; nothing runs yet. */
export function assembleCatalogs({
  config,
  log,
  metrics,
  stores,
  holder,
}: CatalogOptions): CatalogParts {
  const { ledger, engine } = stores;
  const rareLog = new RareLog(log);
  const worker = holder === 'admin' ? undefined : holder;
  const files = new LastGoodFiles(config.dataDir, worker, ({ doing, path, error }) => {
    metrics.faults.add('disk');
    const message =
      doing === 'read'
        ? 'last known state on disk could not be read'
        : 'last known state could not be written to disk';
    rareLog.warn({ err: error, file: path }, message);
  });
  const lastGood = holder === 'admin' ? readOnly(files) : files;
  const known = new KnownChannels({ ledger, engine, lastGood, log: rareLog, metrics });
  const catalogs = new Catalogs({ ledger, engine, lastGood, known, log: rareLog, metrics });
  const refresher = new CatalogRefresher(catalogs, ledger, metrics, log);
  return { known, knownPoll: new KnownChannelsPoll(known), catalogs, lastGood, refresher };
}

/** Returns the files for a process that has no folder of its own to write to. */
function readOnly(files: LastGood): LastGood {
  return {
    keep: () => undefined,
    find: (appRef, channel) => files.find(appRef, channel),
    list: (countMax) => files.list(countMax),
    hasAny: () => files.hasAny(),
    flush: async () => undefined,
  };
}
