// Past of the demo: releases, their rollouts, and the versions that each device of the fleet ran over time.
// It is written straight into the embedded ledger, because the service itself gives everything the present
// time.

import { join } from 'node:path';
import { deviceIdOf, seededRandom } from '../bench/random.ts';
import { isFailure } from '../src/contract/failure.ts';
import type { ReleaseStatus } from '../src/contract/resource.ts';
import { cohortBucket, cohortThreshold, hashText } from '../src/domain/decision/cohort.ts';
import type { CheckIn } from '../src/domain/fleet/check-in.ts';
import type { Database } from '../src/ledger/database.ts';
import { migrate } from '../src/ledger/migrate.ts';
import { openPgliteDatabase } from '../src/ledger/pglite-database.ts';
import { createSqlLedger } from '../src/ledger/sql-ledger.ts';
import { argon2Hasher } from '../src/password/argon2-hasher.ts';
import type { Ledger } from '../src/ports/ledger.ts';

export type DemoDevice = {
  readonly id: string;
  readonly platform: string;
  readonly arch: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Hours from the offer of an update until the device installs it. */
  readonly lagHours: number;
  version: string;
};

export type DemoFleet = { readonly app: string; readonly devices: readonly DemoDevice[] };

type PastRelease = {
  readonly version: string;
  readonly daysAgo: number;
  readonly rolloutPct: number;
  readonly notes: string;
  /** Change of status that ended its publication; absent while it is published. */
  readonly end?: { readonly status: ReleaseStatus; readonly daysAgo: number };
};

const APP = 'notes';
const SEED = 20_261_120;
const DEVICES = 3000;
const DAYS = 14;
const POLL_HOURS = 8;
const HOUR_MS = 3_600_000;
const BATCH_SIZE = 2000;
const ACTOR = { kind: 'admin-token' } as const;

const RELEASES: readonly PastRelease[] = [
  {
    ...{ version: '2.1.0', daysAgo: 40, rolloutPct: 100 },
    notes: '# 2.1\n\n- Folders\n- Search in attachments',
    end: { status: 'deprecated', daysAgo: 12 },
  },
  {
    ...{ version: '2.2.0', daysAgo: 24, rolloutPct: 100 },
    notes: '# 2.2\n\n- Shared notebooks\n- **Offline** editing',
  },
  {
    ...{ version: '2.3.0', daysAgo: 9, rolloutPct: 50 },
    notes: '# 2.3\n\n- New sync engine',
    end: { status: 'rolled_back', daysAgo: 7 },
  },
  {
    ...{ version: '2.3.1', daysAgo: 7, rolloutPct: 100 },
    notes: '# 2.3.1\n\n- Sync no longer loses the last edit',
  },
  {
    ...{ version: '2.4.0', daysAgo: 1, rolloutPct: 20 },
    notes: '# 2.4\n\n- Tables\n- Faster start\n\nThanks to all testers.',
  },
];

/** Writes an owner's account, an organization, its app and the fleet's last two weeks. */
export async function writeDemoHistory(
  dataDir: string,
  owner: { readonly email: string; readonly password: string },
): Promise<DemoFleet> {
  const onFault = (error: unknown): never => {
    throw error;
  };
  const database = await openPgliteDatabase({ directory: join(dataDir, 'ledger'), onFault });
  await migrate(database);
  const ledger = createSqlLedger(database);
  try {
    const appId = await createApp(ledger, owner);
    const releaseIds = await publishAll(ledger, database);
    const devices = createDevices();
    await liveThrough(ledger, appId, releaseIds, devices);
    return { app: APP, devices };
  } finally {
    await ledger.close();
  }
}

async function createApp(
  ledger: Ledger,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<string> {
  const passwordHash = await argon2Hasher.hash(password);
  const account = { email, name: 'Release manager', passwordHash };
  demand(await ledger.createFirstAccount(account, 'Acme'));
  const [membership] = await ledger.listMemberships(undefined);
  const organizationId = membership?.organization.id ?? '';
  const channels = ['stable', 'beta'];
  const app = { organizationId, ref: APP, name: 'Acme Notes', channels };
  const created = demand(await ledger.createApp(app, ACTOR));
  demand(await ledger.updateChannel(APP, 'stable', { minimumSupportedVersion: '2.1.0' }, ACTOR));
  return created.value.id;
}

/**
 * Publishes the releases and dates them back, because the ledger gives them the present time. Returns ids by
 * version.
 */
async function publishAll(ledger: Ledger, database: Database): Promise<Map<string, string>> {
  const [membership] = await ledger.listMemberships(undefined);
  const organizationId = membership?.organization.id ?? '';
  const ids = new Map<string, string>();
  await database.runScript('ALTER TABLE releases DISABLE TRIGGER refuse_release_change');
  for (const { version, daysAgo, rolloutPct, notes, end } of RELEASES) {
    const published = demand(
      await ledger.publishRelease(
        organizationId,
        {
          ...{ app: APP, channel: 'stable', version, canonicalVersion: version, notes },
          ...{ status: 'published', rolloutPct, targets: null, artifacts: artifactsOf(version) },
        },
        ACTOR,
      ),
    );
    ids.set(version, published.value.id);
    const at = timeBefore(daysAgo);
    await database.query('UPDATE releases SET created_at = $2, offered_at = $2 WHERE id = $1', [
      published.value.id,
      at,
    ]);
    await dateAudit(database, 'release.publish', version, daysAgo);
    if (end === undefined) continue;
    const name = { app: APP, channel: 'stable', canonicalVersion: version };
    demand(
      await ledger.controlServing(
        organizationId,
        name,
        (serving) => ({ ...serving, status: end.status }),
        ACTOR,
      ),
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

function artifactsOf(version: string) {
  const at = (platform: string, arch: string, name: string) => ({
    ...{ platform, arch, url: `https://downloads.example.com/notes/${version}/${name}` },
    ...{ size: 80_000_000, signature: 'ZGVtbw==' },
  });
  return [
    at('darwin', 'universal', `Acme.Notes_${version}_universal.app.tar.gz`),
    at('windows', 'x86_64', `Acme.Notes_${version}_x64-setup.exe`),
    at('linux', 'x86_64', `Acme.Notes_${version}_amd64.AppImage`),
  ];
}

function createDevices(): DemoDevice[] {
  const random = seededRandom(SEED);
  return Array.from({ length: DEVICES }, () => {
    const [platform, arch] = pick(random, [
      [0.45, ['darwin', 'aarch64']],
      [0.4, ['windows', 'x86_64']],
      [0.15, ['linux', 'x86_64']],
    ]) as [string, string];
    const region = pick(random, [
      [0.5, 'eu'],
      [0.35, 'us'],
      [0.15, 'ap'],
    ]);
    const ring = random() < 0.06 ? { ring: 'early' } : {};
    return {
      id: deviceIdOf(random),
      platform,
      arch,
      labels: { region, ...ring },
      // Most devices update within a day or two, a few much later: an update waits until the app is
      // restarted.
      lagHours: -Math.log(1 - random()) * (random() < 0.1 ? 300 : 30),
      version: random() < 0.15 ? '2.1.0' : '2.2.0',
    };
  });
}

function pick<Value>(random: () => number, choices: readonly (readonly [number, Value])[]): Value {
  let left = random();
  for (const [share, value] of choices) {
    left -= share;
    if (left < 0) return value;
  }
  return (choices.at(-1) as readonly [number, Value])[1];
}

/**
 * Records the check-ins of the devices that poll, hour by hour; each device installs an offer after its lag.
 */
async function liveThrough(
  ledger: Ledger,
  appId: string,
  releaseIds: ReadonlyMap<string, string>,
  devices: readonly DemoDevice[],
): Promise<void> {
  const random = seededRandom(SEED + 1);
  const begin = Date.now() - DAYS * 24 * HOUR_MS;
  let batch: CheckIn[] = [];
  for (let hour = 0; hour < DAYS * 24; hour++) {
    const at = begin + hour * HOUR_MS;
    for (const device of devices) {
      if (random() > 1 / POLL_HOURS) continue;
      const offered = offerAt(device, at, releaseIds);
      batch.push(checkInOf(device, appId, at + random() * HOUR_MS, releaseIds.get(offered ?? '')));
    }
    if (batch.length < BATCH_SIZE) continue;
    await ledger.recordCheckIns(batch);
    batch = [];
  }
  await ledger.recordCheckIns(batch);
}

/** Returns the version that the channel offered the device then; updates the device once its lag is over. */
function offerAt(
  device: DemoDevice,
  at: number,
  releaseIds: ReadonlyMap<string, string>,
): string | undefined {
  const hoursOut = (each: PastRelease) => (at - Date.now()) / HOUR_MS + each.daysAgo * 24;
  const offer = RELEASES.filter(
    (each) =>
      hoursOut(each) > 0 && isFor(device, each, releaseIds.get(each.version) ?? '', hoursOut(each)),
  ).at(-1);
  if (offer === undefined || offer.version === device.version) return undefined;
  if (hoursOut(offer) > device.lagHours) device.version = offer.version;
  return offer.version;
}

/**
 * Tells whether the release was for the device, by the same cohorts as the service's. 2.3.0 was out for two
 * days.
 */
function isFor(
  device: DemoDevice,
  { version, rolloutPct }: PastRelease,
  releaseId: string,
  hoursOut: number,
): boolean {
  if (version === '2.3.0' && hoursOut > 48) return false;
  return cohortBucket(hashText(device.id), hashText(releaseId)) < cohortThreshold(rolloutPct);
}

function checkInOf(
  device: DemoDevice,
  appId: string,
  at: number,
  offeredReleaseId: string | undefined,
): CheckIn {
  const { id, platform, arch, version, labels } = device;
  return {
    ...{ appId, deviceId: id, channel: 'stable', version, platform, arch, source: 'pull' },
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
