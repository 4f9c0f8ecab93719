// Counts requests whose device id is one that many devices share by mistake, such as `undefined`. The counts
// go into the metrics, and once a minute into the ledger, where the doctor and the console read them.

import { LIMIT } from '../contract/limit.ts';
import type { MistakenId } from '../contract/ref.ts';
import { mistakenIdIn } from '../domain/fleet/mistaken-id.ts';
import { periodic } from '../flow/periodic.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { RareLog } from '../observe/rare-log.ts';
import type { MistakenIdCount } from '../store/fleet-ledger.ts';
import type { Ledger } from '../store/ledger.ts';

type MistakenIdsDependencies = {
  readonly metrics: Pick<Metrics, 'mistakenIds'>;
  /** Ledger of the counts; undefined on an edge, which only has metrics. */
  readonly ledger: Pick<Ledger, 'recordMistakenIds'> | undefined;
  readonly log: Pick<RareLog, 'warnAbout'>;
};

type App = { readonly appId: string; readonly appRef: string };

const INTERVAL_MS = 60_000;

export class MistakenIds {
  /** Counts that are not in the ledger yet, by app and kind. */
  private pending = new Map<string, MistakenIdCount>();
  private readonly writes = periodic(() => this.write(), { everyMs: INTERVAL_MS });

  readonly start = this.writes.start;

  constructor(private readonly dependencies: MistakenIdsDependencies) {}

  /** Counts a request of an app that names a device by a mistaken id. */
  note({ appId, appRef }: App, kind: MistakenId): void {
    this.dependencies.metrics.mistakenIds.of(appRef)[kind].count += 1;
    if (this.dependencies.ledger !== undefined) this.add({ appId, kind, count: 1 });
  }

  /** Writes what is not in the ledger yet. */
  async stop(): Promise<void> {
    await this.writes.stop();
    await this.write();
  }

  /** Writes the pending counts; keeps them for the next time when the ledger does not answer. */
  async write(): Promise<void> {
    const { ledger, log } = this.dependencies;
    if (ledger === undefined || this.pending.size === 0) return;
    const counts = [...this.pending.values()];
    this.pending = new Map();
    try {
      await ledger.recordMistakenIds(counts);
    } catch (error) {
      for (const count of counts) this.add(count);
      log.warnAbout('mistaken-ids', { err: error }, 'counts of mistaken ids could not be recorded');
    }
  }

  /** Adds a count to the pending ones; beyond their bound, only the metrics have it. */
  private add({ appId, kind, count }: MistakenIdCount): void {
    const key = `${appId} ${kind}`;
    const known = this.pending.get(key);
    if (known === undefined && this.pending.size >= LIMIT.mistakenIdCountsMax) return;
    this.pending.set(key, { appId, kind, count: (known?.count ?? 0) + count });
  }
}

/** Counts the devices of a call that have a mistaken id. */
export function noteMistakes(
  mistakenIds: Pick<MistakenIds, 'note'>,
  app: { readonly id: string; readonly ref: string },
  devices: readonly { readonly deviceId: string }[],
): void {
  for (const { deviceId } of devices) {
    const kind = mistakenIdIn(deviceId);
    if (kind !== undefined) mistakenIds.note({ appId: app.id, appRef: app.ref }, kind);
  }
}
