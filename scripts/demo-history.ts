// Past of the demo: releases, their rollouts, and the versions that each device of the fleet ran over time.
// It is written straight into the embedded ledger, because the service itself gives everything the present
// time.

import { join } from 'node:path';
import { seededRandom } from '../bench/random.ts';
import { argon2Hasher } from '../src/access/passwords.ts';
import { isFailure } from '../src/contract/failure.ts';
import type { CheckIn } from '../src/domain/fleet/check-in.ts';
import type { Database } from '../src/store/ledger/database/database.ts';
import { migrate } from '../src/store/ledger/database/migrate.ts';
import { openPgliteDatabase } from '../src/store/ledger/database/pglite-database.ts';
import { createSqlLedger } from '../src/store/ledger/sql-ledger.ts';
import type { Ledger } from '../src/store/ledger.ts';
import { comeTo, createDevices, type DemoDevice, isDead } from './demo-devices.ts';
import { livePlans } from './demo-plans.ts';
import { artifactsOf, GOOD_VERSION, HOUR_MS, RELEASES, wasFor } from './demo-releases.ts';

export type DemoFleet = { readonly app: string; readonly devices: readonly DemoDevice[] };

const APP = 'notes';
const SEED = 20_261_121;
const DAYS = 14;
/** Hours up to the present in which every device asks in each one, as it does in the demo itself. */
const LIVE_HOURS = 48;
const ACTOR = { kind: 'admin-token' } as const;

/**
 * Writes an owner's account, an organization, its app and the fleet's last two weeks. `onProgress` hears what
 * is being written.
 */
export async function writeDemoHistory(
  dataDir: string,
  owner: { readonly email: string; readonly password: string },
  onProgress: (what: string) => void,
): Promise<DemoFleet> {
  const onFault = (error: unknown): never => {
    throw error;
  };
  onProgress('a new database');
  const database = await openPgliteDatabase({ directory: join(dataDir, 'ledger'), onFault });
  await migrate(database);
  const ledger = createSqlLedger(database);
  try {
    const { organizationId, id: appId } = await createApp(ledger, owner);
    const releaseIds = await publishAll(ledger, database, organizationId);
    const devices = createDevices();
    await liveThrough(ledger, appId, releaseIds, devices, onProgress);
    onProgress('the rollout plans');
    const app = { id: appId, ref: APP };
    await livePlans({ ledger, database, organizationId, app }, devices);
    return { app: APP, devices };
  } finally {
    await ledger.close();
  }
}

async function createApp(
  ledger: Ledger,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<{ readonly organizationId: string; readonly id: string }> {
  const passwordHash = await argon2Hasher.hash(password);
  const account = { email, name: 'Release manager', passwordHash };
  demand(await ledger.createFirstAccount(account, 'Acme'));
  const [membership] = await ledger.listMemberships(undefined);
  const organizationId = membership?.organization.id ?? '';
  const channels = ['stable', 'beta'];
  const app = { organizationId, ref: APP, name: 'Acme Notes', channels };
  const created = demand(await ledger.createApp(app, ACTOR));
  const change = { minimumSupportedVersion: '2.1.0' };
  const input = { app: APP, channel: 'stable', change };
  demand(await ledger.updateChannel({ input, actor: ACTOR }));
  return { organizationId, id: created.value.id };
}

/**
 * Publishes the releases and dates them back, because the ledger gives them the present time. Returns ids by
 * version.
 */
async function publishAll(
  ledger: Ledger,
  database: Database,
  organizationId: string,
): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  await database.runScript('ALTER TABLE releases DISABLE TRIGGER refuse_release_change');
  for (const { channel, version, daysAgo, rollouts, notes, end } of RELEASES) {
    // The plan raises the good one. The bad one has its first step from the beginning: no plan would begin a
    // step now that its failures are on record.
    const rolloutPct = version === GOOD_VERSION ? 0 : rollouts.at(-1)?.rolloutPct;
    const published = demand(
      await ledger.publishRelease({
        ...{ scope: organizationId, actor: ACTOR },
        input: {
          ...{ app: APP, channel, version, canonicalVersion: version, notes },
          ...{ status: 'published', rolloutPct, targets: null, artifacts: artifactsOf(version) },
        },
      }),
    );
    ids.set(version, published.value.id);
    await database.query(
      'UPDATE releases SET created_at = $2, published_at = $2, offered_at = $2 WHERE id = $1',
      [published.value.id, timeBefore(daysAgo)],
    );
    await dateAudit(database, 'release.publish', version, daysAgo);
    if (end === undefined) continue;
    const name = { app: APP, channel, canonicalVersion: version };
    demand(
      await ledger.controlServing({
        ...{ scope: organizationId, actor: ACTOR },
        input: { ...name, transition: (serving) => ({ ...serving, status: end.status }) },
      }),
    );
    await dateAudit(database, 'release.serve', version, end.daysAgo);
  }
  await database.runScript('ALTER TABLE releases ENABLE TRIGGER refuse_release_change');
  return ids;
}

async function dateAudit(
  database: Database,
  action: string,
  version: string,
  daysAgo: number,
): Promise<void> {
  await database.query('UPDATE audit_entries SET at = $1 WHERE action = $2 AND subject LIKE $3', [
    timeBefore(daysAgo),
    action,
    `%@${version}`,
  ]);
}

function timeBefore(daysAgo: number): string {
  return new Date(Date.now() - daysAgo * 24 * HOUR_MS).toISOString();
}

/**
 * Records the check-ins of the devices that poll, hour by hour; each device installs an offer after its lag.
 */
async function liveThrough(
  ledger: Ledger,
  appId: string,
  releaseIds: ReadonlyMap<string, string>,
  devices: readonly DemoDevice[],
  onProgress: (what: string) => void,
): Promise<void> {
  const random = seededRandom(SEED);
  const begin = Date.now() - DAYS * 24 * HOUR_MS;
  for (let hour = 0; hour < DAYS * 24; hour++) {
    onProgress(`day ${Math.floor(hour / 24) + 1} of ${DAYS}`);
    const at = begin + hour * HOUR_MS;
    const asked: CheckIn[] = [];
    const isLive = hour >= DAYS * 24 - LIVE_HOURS;
    for (const [index, device] of devices.entries()) {
      const asks = random() <= device.hourlyShare || isLive;
      if (!asks || isDead(device)) continue;
      // At the same minute of every hour, so that none is left out.
      const place = isLive ? index / devices.length : random();
      const askedAt = at + place * HOUR_MS;
      comeTo(device, askedAt);
      const offered = offerAt(device, askedAt, releaseIds);
      if (offered !== undefined && offered !== device.offer?.version) {
        device.offer = { version: offered, atMs: askedAt };
      }
      asked.push(checkInOf(device, appId, askedAt, releaseIds.get(offered ?? '')));
    }
    await ledger.recordCheckIns(asked);
  }
}

/** Returns the newest release above the device's version that its channel had for it then. */
function offerAt(
  { id, channel, version }: DemoDevice,
  at: number,
  releaseIds: ReadonlyMap<string, string>,
): string | undefined {
  const running = RELEASES.findIndex((each) => each.version === version);
  const offer = RELEASES.findLast(
    (each, index) =>
      index > running &&
      each.channel === channel &&
      wasFor(each, releaseIds.get(each.version) ?? '', id, at),
  );
  return offer?.version;
}

function checkInOf(
  device: DemoDevice,
  appId: string,
  at: number,
  offeredReleaseId: string | undefined,
): CheckIn {
  const { id, channel, platform, arch, version, labels } = device;
  return {
    ...{ appId, deviceId: id, channel, version, platform, arch, source: 'pull' },
    ...{
      at: Math.min(Math.floor(at), Date.now()),
      labels: new Map(Object.entries(labels)),
      offeredReleaseId,
    },
  };
}

function demand<Value>(outcome: Value): Exclude<Value, { readonly failure: string }> {
  if (isFailure(outcome)) throw new Error(outcome.message);
  return outcome as Exclude<Value, { readonly failure: string }>;
}
