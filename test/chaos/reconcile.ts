// Compares what publishers were told with what the ledger has, and brings the model up to it.

import type { Fact } from './fact.ts';
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
const RECORDED = `
  SELECT apps.ref AS app, device_id AS device FROM devices JOIN apps ON apps.id = devices.app_id`;

/**
 * Notes as wrong every acknowledged write that the ledger does not have, unless the loss took it, and brings
 * the model up to the ledger. Returns the number of writes that the loss took.
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
    const { acknowledged, doubtfulSince } = fact;
    const now = performance.now();
    const isAsTold = acknowledged === undefined || acknowledged.value === stored;
    if (!isAsTold && doubtfulSince === undefined) {
      const told = `${String(acknowledged.value)} was acknowledged`;
      if (loss !== undefined && acknowledged.since >= loss.since) lostCount += 1;
      else judge.note(`${name}: ${told}, and the ledger has ${String(stored)}`);
    }
    fact.settle(stored, loss?.span ?? { from: doubtfulSince ?? now, to: now });
  };
  for (const { tenant, model } of apps) {
    const isOwn = ({ app }: { readonly app: string }) => app === tenant.app;
    for (const release of model.releases.values()) {
      const name = `${tenant.app} ${release.version}`;
      const row = releases.filter(isOwn).find(({ version }) => version === release.version);
      compare(`${name} status`, release.status, row?.status ?? 'absent');
      if (row !== undefined) compare(`${name} rollout`, release.isForAll, row.isForAll);
    }
    const rings = new Map(devices.filter(isOwn).map(({ device, ring }) => [device, ring]));
    for (const [device, fact] of model.rings) {
      compare(`${tenant.app} ${device}`, fact, rings.get(device) ?? undefined);
    }
  }
  await findLost(world, apps, loss);
  return lostCount;
}

/** Tells the histories of devices that speak DDI which of them a loss has taken, and which are back. */
async function findLost(world: World, apps: readonly ChaosApp[], loss?: Loss): Promise<void> {
  const askedAt = performance.now();
  const rows = await world.query<Omit<DeviceRow, 'ring'>>(RECORDED);
  for (const { tenant, histories } of apps) {
    const recorded = new Set(rows.flatMap(({ app, device }) => (app === tenant.app ? device : [])));
    for (const [device, history] of histories) {
      if (recorded.has(device)) history.back(askedAt);
      else if (loss !== undefined) history.lost();
    }
  }
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
