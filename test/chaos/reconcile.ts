// Compares what publishers were told with what the ledger has, and brings the model up to it.

import type { Fact, Span } from './fact.ts';
import type { Loss } from './faults.ts';
import type { Judge } from './judge.ts';
import type { ModelStatus } from './oracle.ts';
import type { ChaosApp } from './traffic.ts';
import type { World } from './world.ts';

type ReleaseRow = {
  readonly app: string;
  readonly version: string;
  readonly status: ModelStatus;
  readonly isForAll: boolean;
  readonly isOffered: boolean;
};
type DeviceRow = { readonly app: string; readonly device: string; readonly ring: string | null };

const RELEASES = `
  SELECT apps.ref AS app, releases.version, releases.status,
    releases.rollout_pct = 100 AS "isForAll", releases.offered_at IS NOT NULL AS "isOffered"
  FROM releases JOIN channels ON channels.id = releases.channel_id
    JOIN apps ON apps.id = channels.app_id`;
const DEVICES = `
  SELECT apps.ref AS app, device_id AS device, labels ->> 'ring' AS ring
  FROM devices JOIN apps ON apps.id = devices.app_id WHERE labels ? 'ring'`;

/**
 * Notes as wrong every acknowledged write that the ledger does not have, unless the loss took it. Returns the
 * number of writes that the loss took.
 */
export async function reconcile(
  world: World,
  apps: readonly ChaosApp[],
  judge: Judge,
  loss?: Loss,
): Promise<number> {
  const releases = await world.query<ReleaseRow>(RELEASES);
  const devices = await world.query<DeviceRow>(DEVICES);
  let lostCount = 0;
  const compare = <Value>(name: string, fact: Fact<Value>, stored: Value) => {
    if (settle(name, fact, stored, judge, loss)) lostCount += 1;
  };
  for (const { tenant, model } of apps) {
    const rows = new Map(
      releases.filter((row) => row.app === tenant.app).map((row) => [row.version, row]),
    );
    for (const release of model.releases.values()) {
      const row = rows.get(release.version);
      const name = `${tenant.app} ${release.version}`;
      compare(`${name} status`, release.status, row?.status ?? 'absent');
      if (row !== undefined) compare(`${name} rollout`, release.isForAll, row.isForAll);
    }
    const rings = new Map(
      devices.filter((row) => row.app === tenant.app).map((row) => [row.device, row.ring]),
    );
    for (const [device, fact] of model.rings) {
      compare<string | undefined>(`${tenant.app} ${device}`, fact, rings.get(device) ?? undefined);
    }
  }
  return lostCount;
}

/**
 * Notes as wrong every release that a device was offered and that the ledger does not have as offered. To be
 * called once every node is right: marks that a fail-over took are written back by the nodes that follow it.
 */
export async function checkOffers(
  world: World,
  apps: readonly ChaosApp[],
  judge: Judge,
): Promise<void> {
  const askedAt = performance.now();
  const releases = await world.query<ReleaseRow>(RELEASES);
  for (const { app, version, isOffered } of releases) {
    const model = apps.find(({ tenant }) => tenant.app === app)?.model;
    const offeredAt = model?.releases.get(version)?.offeredAt ?? Number.POSITIVE_INFINITY;
    if (isOffered || offeredAt >= askedAt) continue;
    judge.note(`${app} ${version} was offered, and the ledger does not say so`);
  }
}

/** Brings a fact up to the ledger; returns whether an acknowledged value was lost by the loss. */
function settle<Value>(
  name: string,
  fact: Fact<Value>,
  stored: Value,
  judge: Judge,
  loss: Loss | undefined,
): boolean {
  const acknowledged = fact.acknowledged;
  const now = performance.now();
  const doubtful: Span = { from: fact.doubtfulSince ?? now, to: now };
  const isAsTold = acknowledged === undefined || acknowledged.value === stored;
  if (isAsTold || fact.isInDoubt) {
    fact.settle(stored, loss?.span ?? doubtful);
    return false;
  }
  const isLost = loss !== undefined && acknowledged.since >= loss.since;
  if (!isLost) {
    const told = `${String(acknowledged.value)} was acknowledged`;
    judge.note(`${name}: ${told}, and the ledger has ${String(stored)}`);
  }
  fact.settle(stored, loss?.span ?? doubtful);
  return isLost;
}
