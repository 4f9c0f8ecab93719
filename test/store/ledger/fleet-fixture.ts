// Helpers that the tests of the fleet share: check-ins, and queries of the stored rows past the ledger.

import type { AdoptionPoint } from '../../../src/contract/console-fleet.ts';
import type { Labels } from '../../../src/domain/decision/targeting.ts';
import type { CheckIn } from '../../../src/domain/fleet/check-in.ts';
import type { AdmissionBounds } from '../../../src/store/fleet-ledger.ts';
import type { Database } from '../../../src/store/ledger/database/database.ts';
import type { TestTenant } from './ledger-fixture.ts';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
/** Time of the first check-ins, at the beginning of an hour. */
export const START = Date.UTC(2026, 2, 29);

/** Bounds of new devices that admit any number. */
export const NO_BOUNDS: AdmissionBounds = { perNetwork: 0, perApp: 0 };

/** A check-in with every field except labels and an offer. */
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

/** Sets the clock by which the fleet is recorded in a database; undefined lets it run again. */
export async function setFleetTime(database: Database, ms: number | undefined): Promise<void> {
  const time = ms === undefined ? 'clock_timestamp()' : `to_timestamp(${ms} / 1000.0)`;
  await database.runScript(
    `CREATE OR REPLACE FUNCTION fleet_time() RETURNS timestamptz LANGUAGE sql VOLATILE
     AS $$ SELECT date_trunc('milliseconds', ${time}) $$`,
  );
}

/** Returns the position of a device's row, which changes when the row is written again. */
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

/** Counts the devices of an app by their rows, without the maintained counts. */
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

/**
 * Returns a generator of numbers below 1 that are the same in every run, so that a failure can be repeated.
 */
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
