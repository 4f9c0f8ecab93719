// Changes of actions that the ledger does not have yet: the latest of each device, stored every second. What
// a process could not store is found by the poll that reads it from the engine, at whatever process.

import { whenAway } from '../contract/store-fault.ts';
import { deviceKey } from '../domain/fleet/check-in.ts';
import { type Periodic, periodic, tellFault } from '../flow/periodic.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { ActionStore, ActionWrite } from '../store/action-store.ts';
import type { ReportedFailure } from '../store/fleet-ledger.ts';
import type { Ledger } from '../store/ledger.ts';

/** Maximum number of devices whose change waits here; further ones wait in the engine alone. */
const DEVICES_MAX = 100_000;
/** Maximum number of failures that wait; further ones are lost. */
const FAILURES_MAX = 10_000;
const ROWS_PER_STATEMENT_MAX = 1000;
const FAILURES_PER_STATEMENT_MAX = 500;
const INTERVAL_MS = 1000;

type UnstoredActionsDependencies = {
  readonly ledger: Pick<Ledger, 'readActions' | 'writeActions' | 'recordFailures'>;
  readonly engine: ActionStore;
  readonly metrics: Metrics;
  readonly log: Log;
};

export class UnstoredActions {
  private readonly writes = new Map<string, ActionWrite>();
  private failures: ReportedFailure[] = [];
  private readonly loop: Periodic;

  constructor(private readonly dependencies: UnstoredActionsDependencies) {
    this.loop = periodic(() => this.store(), {
      everyMs: INTERVAL_MS,
      onFault: (error) =>
        tellFault(dependencies, 'action-write', error, 'actions could not be recorded'),
    });
  }

  readonly start = () => this.loop.start();

  /** Stores what is there once more; what cannot be stored stays in the engine. */
  async stop(): Promise<void> {
    await this.loop.stop();
    await this.store().catch(whenAway(() => undefined));
  }

  /** Stores what is there now, as far as the ledger answers; does not reject. */
  async flush(): Promise<void> {
    if (this.writes.size > 0) await this.loop.turn();
  }

  get size(): number {
    return this.writes.size;
  }

  add(write: ActionWrite): void {
    const key = deviceKey(write);
    const known = this.writes.get(key);
    if (known === undefined && this.writes.size >= DEVICES_MAX) return;
    if (known === undefined || known.revision < write.revision) this.writes.set(key, write);
  }

  /** Adds a failed installation, which counts for the guards of a plan. */
  addFailure(failure: ReportedFailure): void {
    if (this.failures.length < FAILURES_MAX) this.failures.push(failure);
    else this.dependencies.metrics.ddiReports.add('dropped');
  }

  private async store(): Promise<void> {
    await this.storeFailures();
    const waiting = [...this.writes.values()];
    for (let from = 0; from < waiting.length; from += ROWS_PER_STATEMENT_MAX) {
      await this.storeSome(waiting.slice(from, from + ROWS_PER_STATEMENT_MAX));
    }
  }

  private async storeFailures(): Promise<void> {
    while (this.failures.length > 0) {
      const some = this.failures.slice(0, FAILURES_PER_STATEMENT_MAX);
      await this.dependencies.ledger.recordFailures(some);
      this.failures = this.failures.slice(some.length);
    }
  }

  private async storeSome(writes: readonly ActionWrite[]): Promise<void> {
    const { ledger, engine } = this.dependencies;
    const isStored = await ledger.writeActions(writes);
    await engine
      .noteStored(writes.filter((_, index) => isStored[index]))
      .catch(whenAway(() => undefined));
    const refused = writes.filter((_, index) => !isStored[index]);
    if (refused.length > 0) await this.followRecord(refused);
    for (const write of writes) {
      const key = deviceKey(write);
      if (this.writes.get(key) === write) this.writes.delete(key);
    }
  }

  /** Makes the engine hold what the record has: a later change, the same one, or no such device. */
  private async followRecord(writes: readonly ActionWrite[]): Promise<void> {
    const { ledger, engine } = this.dependencies;
    const read = await ledger.readActions(writes);
    const stored = read.flatMap(({ actions, ...device }) =>
      actions === undefined ? [] : [{ ...device, ...actions }],
    );
    const away = whenAway(() => undefined);
    await engine.putActions(stored).catch(away);
    await engine.dropActions(read.filter(({ isRecorded }) => !isRecorded)).catch(away);
  }
}
