// Assembly of the catalogs of a process: where they are kept, and what keeps them up to date.

import type { LedgerClock } from '../fleet/ledger-clock.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { RareLog } from '../observe/rare-log.ts';
import { CatalogRefresher } from '../serving/catalog-refresher.ts';
import { Catalogs } from '../serving/catalogs.ts';
import { KnownChannels } from '../serving/known-channels.ts';
import { KnownChannelsPoll } from '../serving/known-channels-poll.ts';
import { LedgerRewind } from '../serving/ledger-recovery.ts';
import { SharedSnapshots } from '../serving/shared-snapshots.ts';
import type { ServingStores } from './stores.ts';

export type CatalogParts = {
  readonly known: KnownChannels;
  readonly knownPoll: KnownChannelsPoll;
  readonly catalogs: Catalogs;
  readonly refresher: CatalogRefresher;
};

/** Builds the catalogs; nothing runs yet. `clock` tells the ledger's time. */
export function assembleCatalogs(
  log: Log,
  metrics: Metrics,
  stores: ServingStores,
  clock: Pick<LedgerClock, 'now'>,
): CatalogParts {
  const { ledger, engine, lastGood, memory, report } = stores;
  const shared = new SharedSnapshots(engine, metrics);
  const parts = { ledger, engine, lastGood, shared, report, log: new RareLog(log), metrics };
  const rewind = new LedgerRewind(parts);
  const known = new KnownChannels(parts);
  const catalogs = new Catalogs({ ...parts, known, rewind, memory });
  return {
    known,
    knownPoll: new KnownChannelsPoll(known),
    catalogs,
    refresher: new CatalogRefresher({
      ...{ ...parts, catalogs, rewind, log },
      now: () => clock.now(),
    }),
  };
}
