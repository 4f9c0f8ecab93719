// What the tests of the fleet share: check-ins, and what is stored of them, looked at past the ledger.

import type { CheckIn } from '../../src/domain/check-in.ts';
import type { Labels } from '../../src/domain/targeting.ts';
import type { Database } from '../../src/ledger/database.ts';
import type { AdoptionPoint, DeviceRecord, VersionChange } from '../../src/ports/fleet-ledger.ts';
import type { Ledger } from '../../src/ports/ledger.ts';
import { expectValue, type TestTenant } from './ledger-fixture.ts';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
/** On the hour. */
export const START = Date.UTC(2026, 2, 29);

/** What the suite runs on, once it does. */
export type FleetUnderTest = { readonly ledger: Ledger; readonly database: Database };

/** A check-in that tells everything but labels and an offer. */
export function checkIn(
  tenant: Pick<TestTenant, 'appId'>,
  deviceId: string,
  parts: Partial<CheckIn> = {},
): CheckIn {
  return {
    appId: tenant.appId,
    deviceId,
    channel: 'stable',
    version: '1.0.0',
    platform: 'linux',
    arch: 'x86_64',
    source: 'pull',
    at: START,
    labels: undefined,
    offeredReleaseId: undefined,
    ...parts,
  };
}

export function labelsOf(entries: Readonly<Record<string, string>>): Labels {
  return new Map(Object.entries(entries));
}

export function iso(ms: number): string {
  return new Date(ms).toISOString();
}

export async function deviceOf(
  ledger: Ledger,
  { app }: Pick<TestTenant, 'app'>,
  deviceId: string,
): Promise<DeviceRecord & { readonly history: readonly VersionChange[] }> {
  return expectValue(await ledger.readDevice(app, deviceId));
}

/** Where the row lies: another place, and it was written again. */
export async function placeOf(
  database: Database,
  { appId }: Pick<TestTenant, 'appId'>,
  deviceId: string,
): Promise<string | undefined> {
  const rows = await database.query<{ place: string }>(
    `SELECT ctid::text || ' ' || xmin::text AS place FROM devices
     WHERE app_id = $1 AND device_id = $2`,
    [appId, deviceId],
  );
  return rows[0]?.place;
}

/** Counts the devices of an app where they are, without the maintained counts. */
export function recount(
  database: Database,
  { appId }: Pick<TestTenant, 'appId'>,
): Promise<Omit<AdoptionPoint, 'hour'>[]> {
  return database.query(
    `SELECT channel, version, platform, count(*)::integer AS devices
     FROM devices WHERE app_id = $1
     GROUP BY channel, version, platform ORDER BY channel, version, platform`,
    [appId],
  );
}

/** The same numbers every time: a failure must be one that can be seen again. Below 1. */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

export function shuffle<Item>(items: readonly Item[], random: () => number): Item[] {
  const keyed = items.map((item) => ({ item, key: random() }));
  return keyed.sort((left, right) => left.key - right.key).map(({ item }) => item);
}

export function chunksOf<Item>(items: readonly Item[], size: number): Item[][] {
  const count = Math.ceil(items.length / size);
  return Array.from({ length: count }, (_, index) => items.slice(index * size, (index + 1) * size));
}
