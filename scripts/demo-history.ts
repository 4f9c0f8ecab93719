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
import { createGateways, GATEWAY, raiseGateways } from './demo-gateways.ts';
import { livePlans } from './demo-plans.ts';
import { HOUR_MS, NOTES, type PastApp, wasFor } from './demo-releases.ts';

export type DemoFleets = {
  readonly notes: readonly DemoDevice[];
  readonly gateways: readonly DemoDevice[];
};

const SEED = 20_261_121;
const DAYS = 14;
/** Hours up to the present in which every device asks in each one, as it does in the demo itself. */
const LIVE_HOURS = 48;
const ACTOR = { kind: 'admin-token' } as const;

/** App on record, with the ids of its releases by version. */
type Known = PastApp & { readonly id: string; readonly releaseIds: ReadonlyMap<string, string> };
type Stores = {
  readonly ledger: Ledger;
  readonly database: Database;
  readonly organizationId: string;
};

/**
 * Writes an owner's account, an organization, its apps and their fleets' last two weeks. `onProgress` hears
 * what is being written.
 */
export async function writeDemoHistory(
  dataDir: string,
  owner: { readonly email: string; readonly password: string },
  onProgress: (what: string) => void,
): Promise<DemoFleets> {
  const onFault = (error: unknown): never => {
    throw error;
  };
  onProgress('a new database');
  const database = await openPgliteDatabase({ directory: join(dataDir, 'ledger'), onFault });
  await migrate(database);
  const ledger = createSqlLedger(database);
  try {
    const organizationId = await createOwner(ledger, owner);
    const stores = { ledger, database, organizationId };
    const [notes, gateways] = [await createApp(stores, NOTES), await createApp(stores, GATEWAY)];
    await supportOnly(ledger, '2.1.0');
    const fleets = { notes: createDevices(), gateways: createGateways() };
    await liveThrough(ledger, notes, fleets.notes, onProgress);
    await liveThrough(ledger, gateways, fleets.gateways, onProgress);
    onProgress('the rollout plans');
    await livePlans({ ...stores, app: notes }, fleets.notes);
    await raiseGateways({ ...stores, app: gateways });
    return fleets;
  } finally {
    await ledger.close();
  }
}

/** Returns the id of the owner's organization. */
async function createOwner(
  ledger: Ledger,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<string> {
  const passwordHash = await argon2Hasher.hash(password);
  const account = { email, name: 'Release manager', passwordHash };
  demand(await ledger.createFirstAccount(account, 'Acme'));
  const [membership] = await ledger.listMemberships(undefined);
  return membership?.organization.id ?? '';
}

async function createApp(stores: Stores, past: PastApp): Promise<Known> {
  const { ledger, organizationId } = stores;
  const { ref, name, channels, client } = past;
  const created = demand(
    await ledger.createApp({ organizationId, ref, name, channels: [...channels] }, ACTOR),
  );
  if (client === 'ddi') {
    const open = { app: ref, change: { ddiAuth: 'open' as const } };
    demand(await ledger.updateApp({ input: open, actor: ACTOR }));
    const input = { app: ref, channel: 'stable', change: { ddi: { arch: 'aarch64' } } };
    demand(await ledger.updateChannel({ input, actor: ACTOR }));
  }
  return { ...past, id: created.value.id, releaseIds: await publishAll(stores, past) };
}

async function supportOnly(ledger: Ledger, minimumSupportedVersion: string): Promise<void> {
  const input = { app: NOTES.ref, channel: 'stable', change: { minimumSupportedVersion } };
  demand(await ledger.updateChannel({ input, actor: ACTOR }));
}

/**
 * Publishes the releases and dates them back, because the ledger gives them the present time. Returns ids by
 * version.
 */
async function publishAll(
  { ledger, database, organizationId }: Stores,
  { ref, releases, plannedVersion, artifactsOf }: PastApp,
): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  await database.runScript('ALTER TABLE releases DISABLE TRIGGER refuse_release_change');
  for (const { channel, version, daysAgo, rollouts, notes, end } of releases) {
    // The plan raises the good one. The bad one has its first step from the beginning: no plan would begin a
    // step now that its failures are on record.
    const rolloutPct = version === plannedVersion ? 0 : rollouts.at(-1)?.rolloutPct;
    const published = demand(
      await ledger.publishRelease({
        ...{ scope: organizationId, actor: ACTOR },
        input: {
          ...{ app: ref, channel, version, canonicalVersion: version, notes },
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
    const name = { app: ref, channel, canonicalVersion: version };
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
  app: Known,
  devices: readonly DemoDevice[],
  onProgress: (what: string) => void,
): Promise<void> {
  const random = seededRandom(SEED);
  const begin = Date.now() - DAYS * 24 * HOUR_MS;
  for (let hour = 0; hour < DAYS * 24; hour++) {
    onProgress(`day ${Math.floor(hour / 24) + 1} of ${DAYS} of ${app.ref}`);
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
      const offered = offerAt(app, device, askedAt);
      if (offered !== undefined && offered !== device.offer?.version) {
        device.offer = { version: offered, atMs: askedAt };
      }
      asked.push(checkInOf(app, device, askedAt, offered));
    }
    await ledger.recordCheckIns(asked);
  }
}

/** Returns the newest release above the device's version that its channel had for it then. */
function offerAt(
  { releases, releaseIds }: Known,
  { id, channel, version }: DemoDevice,
  at: number,
): string | undefined {
  const running = releases.findIndex((each) => each.version === version);
  const offer = releases.findLast(
    (each, index) =>
      index > running &&
      each.channel === channel &&
      wasFor(each, releaseIds.get(each.version) ?? '', id, at),
  );
  return offer?.version;
}

function checkInOf(
  { id: appId, client, releaseIds }: Known,
  device: DemoDevice,
  at: number,
  offered: string | undefined,
): CheckIn {
  const { id, channel, platform, arch, version, labels } = device;
  return {
    ...{ appId, deviceId: id, channel, version, platform, arch, source: 'pull', client },
    ...{
      at: Math.min(Math.floor(at), Date.now()),
      labels: new Map(Object.entries(labels)),
      offeredReleaseId: releaseIds.get(offered ?? ''),
    },
  };
}

function demand<Value>(outcome: Value): Exclude<Value, { readonly failure: string }> {
  if (isFailure(outcome)) throw new Error(outcome.message);
  return outcome as Exclude<Value, { readonly failure: string }>;
}
