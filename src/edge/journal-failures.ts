// Failures that devices report to an edge, on their way through its journal.

import { Unavailable } from '../contract/unavailable.ts';
import type { CheckInJournal } from '../store/check-in-journal.ts';
import type { PlanLedger, ReportedFailure } from '../store/plan-ledger.ts';

/**
 * Returns what takes failures into a journal: they are safe when it resolves. Rejects with `Unavailable` when
 * the journal is full, or the disk does not take them.
 */
export function journalFailures(
  journal: Pick<CheckInJournal, 'append'>,
): Pick<PlanLedger, 'recordFailures'> {
  return {
    async recordFailures(failures: readonly ReportedFailure[]) {
      if ((await journal.append(Buffer.from(JSON.stringify(failures)))) === 'accepted') return;
      throw new Unavailable('ledger', new Error('the journal of failures is full'));
    },
  };
}

/** Returns the body that hands batches of the journal over. */
export function joinFailures(batches: readonly Buffer[]): object {
  return { failures: batches.flatMap((each) => JSON.parse(each.toString('utf8')) as unknown[]) };
}
