// Failures that devices report themselves: each is recorded before it is answered, many at a time, and counts
// as a check-in of the version that the device runs.

import type { CheckIn } from '../domain/fleet/check-in.ts';
import { internContext, internVersion } from '../domain/fleet/check-in-pack.ts';
import type { NetworkWords } from '../domain/fleet/network-words.ts';
import { Batcher } from '../flow/batcher.ts';
import type { PlanLedger, ReportedFailure } from '../store/plan-ledger.ts';
import type { CheckIns } from './check-in-buffer.ts';
import type { LedgerClock } from './ledger-clock.ts';

const BATCH_SIZE_MAX = 500;
/** Maximum number of failures that wait for the ledger; one more is 503. */
const PENDING_MAX = 2000;

/** Device that reports a failure, as its address and its client's address tell it. */
export type FailingDevice = Pick<CheckIn, 'platform' | 'arch'> & { readonly words: NetworkWords };

export type FailureReportsDependencies = {
  readonly ledger: Pick<PlanLedger, 'recordFailures'>;
  readonly checkIns: Pick<CheckIns, 'add'>;
  readonly clock: Pick<LedgerClock, 'now'>;
};

export class FailureReports {
  private readonly dependencies: FailureReportsDependencies;
  private readonly batcher: Batcher<ReportedFailure, undefined>;

  constructor(dependencies: FailureReportsDependencies) {
    this.dependencies = dependencies;
    this.batcher = new Batcher({
      ask: async (failures) => {
        await dependencies.ledger.recordFailures(failures);
        return failures.map(() => undefined);
      },
      batchSizeMax: BATCH_SIZE_MAX,
      batchesMax: 1,
      pendingMax: PENDING_MAX,
    });
  }

  /** Records a failure. Rejects with `Unavailable` when the ledger does not answer, or too many wait. */
  async note(failure: ReportedFailure, { platform, arch, words }: FailingDevice): Promise<void> {
    const { checkIns, clock } = this.dependencies;
    const { appId, channel, runs, deviceId } = failure;
    const context = internContext({
      ...{ appId, channel, platform, arch, source: 'pull', client: undefined, bundle: undefined },
      offeredReleaseId: undefined,
    });
    checkIns.add(context, internVersion(runs), deviceId, clock.now(), undefined, words);
    await this.batcher.ask(failure);
  }
}
