// Helpers of the tests of signals: releases that were published in the past, and check-ins around them.

import type { CheckIn } from '../../../src/domain/fleet/check-in.ts';
import type { Database } from '../../../src/store/ledger/database/database.ts';
import type { Ledger } from '../../../src/store/ledger.ts';
import { checkIn as anyTimeCheckIn, HOUR_MS, iso } from './fleet-fixture.ts';
import { createTenant, type TestTenant } from './ledger-fixture.ts';
import type { ModelRelease } from './signal-model.ts';

export const DAY_MS = 24 * HOUR_MS;
/** Begin of an hour not long ago: what is kept of releases goes in time. */
export const BEGIN = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 20 * DAY_MS;

type Store = { readonly ledger: Ledger; readonly database: Database };

/** Publishes a version, as if at that time. */
export async function publishAt(
  database: Database,
  tenant: TestTenant,
  channel: string,
  text: string,
  publishedAt: number,
): Promise<ModelRelease> {
  const { value } = await tenant.release(text, { channel });
  await database.query('UPDATE releases SET published_at = $2::timestamptz WHERE id = $1', [
    value.id,
    iso(publishedAt),
  ]);
  return { id: value.id, channel, version: text, publishedAt, isRolledBack: false };
}

/** A tenant whose beta follows stable, with 1.0.0 on stable, published a day after the start. */
export async function furnish({ ledger, database }: Store) {
  const tenant = await createTenant(ledger, ['stable', 'beta']);
  const release = await publishAt(database, tenant, 'stable', '1.0.0', BEGIN + DAY_MS);
  await tenant.setChannel({ follows: 'stable' }, 'beta');
  const offer = { version: '0.9.0', offeredReleaseId: release.id };
  return { tenant, release, offer };
}

/** A check-in at the start, unless the parts say otherwise. */
export function checkIn(tenant: TestTenant, deviceId: string, parts: Partial<CheckIn>): CheckIn {
  return anyTimeCheckIn(tenant, deviceId, { at: BEGIN, ...parts });
}
