// SQL implementation of the ledger on any `Database`. Each method is one function of query/.

import type { Ledger } from '../ledger.ts';
import { atomically } from './atomically.ts';
import { updateChannel } from './channels.ts';
import { recordCheckIns } from './check-ins.ts';
import { createApp } from './create-app.ts';
import { createChannel } from './create-channel.ts';
import { createOrganization } from './create-organization.ts';
import type { Database } from './database.ts';
import { type DeviceKeeping, USUAL_KEEPING } from './device-keeping.ts';
import { sampleDevices } from './devices.ts';
import { findKey } from './find-key.ts';
import { forgetAdmissions } from './forget-admissions.ts';
import { forgetIdempotencyKeys } from './forget-idempotency-keys.ts';
import { createKey } from './keys.ts';
import { readLabelChanges } from './labels.ts';
import { listApps } from './list-apps.ts';
import { listAudit } from './list-audit.ts';
import { listChannelNames } from './list-channel-names.ts';
import { listChannels } from './list-channels.ts';
import { listDevices } from './list-devices.ts';
import { listReleases } from './list-releases.ts';
import { findApp } from './lookups.ts';
import { promoteRelease } from './promote-release.ts';
import { countPurgeable, purgeDevices } from './purge-devices.ts';
import { raiseEpoch } from './raise-epoch.ts';
import { readAdoption } from './read-adoption.ts';
import { readAwaited } from './read-awaited.ts';
import { readDevice } from './read-device.ts';
import { readFleet } from './read-fleet.ts';
import { readLabels } from './read-labels.ts';
import { readOwnedRelease } from './read-owned-release.ts';
import { readRevisions } from './read-revisions.ts';
import { readTime } from './read-time.ts';
import { readWriters } from './read-writers.ts';
import { recordChecks } from './record-checks.ts';
import { recordFirstOffer } from './record-first-offer.ts';
import { rehearsePromotion, rehearsePublish, rehearseServing } from './rehearsals.ts';
import { publishRelease } from './releases.ts';
import { restoreOffers } from './restore-offers.ts';
import { revokeKey } from './revoke-key.ts';
import { findLostRight } from './rights.ts';
import { controlServing } from './serving-control.ts';
import { readSnapshot } from './snapshots.ts';
import { createSqlAccountLedger } from './sql-account-ledger.ts';
import { createSqlConsoleLedger } from './sql-console-ledger.ts';
import { createSqlEdgeLedger } from './sql-edge-ledger.ts';
import { createSqlPlanLedger } from './sql-plan-ledger.ts';
import { createSqlWebhookLedger } from './sql-webhook-ledger.ts';
import { sweepFleet } from './sweep-fleet.ts';
import { trimHistories } from './trim-histories.ts';
import { updateApp } from './update-app.ts';
import { withdrawRelease } from './withdraw-release.ts';

/**
 * Creates the ledger on a database, which must be migrated or refuse calls until it is. `confirm` examines
 * whether the database is the record; without it, it is taken to be.
 */
export function createSqlLedger(
  database: Database,
  confirm: () => Promise<void> = async () => undefined,
  keeping: DeviceKeeping = USUAL_KEEPING,
): Ledger {
  return {
    ...createSqlAccountLedger(database),
    ...createSqlConsoleLedger(database),
    ...createSqlWebhookLedger(database),
    ...createSqlPlanLedger(database),
    ...createSqlEdgeLedger(database),
    createOrganization: (name, actor) => createOrganization(database, name, actor),
    createApp: (app, actor) => createApp(database, app, actor),
    updateApp: (app, change, actor) => updateApp(database, app, change, actor),
    createChannel: (app, name, actor) => createChannel(database, app, name, actor),
    updateChannel: (app, name, change, actor, known) =>
      updateChannel(database, app, name, change, actor, known),
    createKey: (key, actor) => createKey(database, key, actor),
    revokeKey: (id, actor) => revokeKey(database, id, actor),
    findKey: (prefix) => findKey(database, prefix),
    listAudit: (organizationId, filter) => listAudit(database, organizationId, filter),
    findApp: (reach, app) => findApp(database, reach, app),
    findAnyApp: (app) => findApp(database, undefined, app),
    listApps: (reach) => listApps(database, reach),
    listReleases: (reach, filter) => listReleases(database, reach, filter),
    readOwnedRelease: (reach, id) => readOwnedRelease(database, reach, id),
    listChannels: (organizationId, app) => listChannels(database, organizationId, app),
    publishRelease: (organizationId, release, actor, call, known) =>
      publishRelease(database, organizationId, release, actor, call, known),
    promoteRelease: (organizationId, promotion, actor, call, known) =>
      promoteRelease(database, organizationId, promotion, actor, call, known),
    forgetIdempotencyKeys: (rowsMax) => forgetIdempotencyKeys(database, rowsMax),
    controlServing: (organizationId, name, transition, actor, reason, known) =>
      controlServing(database, organizationId, name, transition, actor, reason, known),
    rehearsePublish: (organizationId, release, actor, held, known) =>
      rehearsePublish(database, organizationId, release, actor, { held, known }),
    rehearsePromotion: (reach, promotion, actor, held, known) =>
      rehearsePromotion(database, reach, promotion, actor, { held, known }),
    rehearseServing: (organizationId, name, transition, actor, held, known) =>
      rehearseServing(database, organizationId, name, transition, actor, { held, known }),
    withdrawRelease: (organizationId, name, actor, reason, known) =>
      withdrawRelease(database, organizationId, name, actor, reason, known),
    recordFirstOffer: (channelId, releaseId, order) =>
      recordFirstOffer(database, channelId, releaseId, order),
    listChannelNames: (heldTag, countMax) => listChannelNames(database, heldTag, countMax),
    readSnapshot: (app, channel, known) => readSnapshot(database, app, channel, known),
    readRevisions: (channelIds) => readRevisions(database, channelIds),
    readTime: () => readTime(database),
    recordCheckIns: (checkIns) => recordCheckIns(database, checkIns, 'queued', keeping),
    recordAwaited: (checkIns) => recordCheckIns(database, checkIns, 'awaited', keeping),
    recordReport: (checkIns, actor) =>
      atomically(database, actor, (sql) => recordCheckIns(sql, checkIns, 'awaited', keeping)),
    findLostRight: (actor) => findLostRight(database, actor, 'read'),
    recordChecks: (checkIns, kind, bounds, isRecorded, writer) =>
      recordChecks(database, checkIns, kind, { bounds, isRecorded, keeping, writer }),
    readWriters: (parts) => readWriters(database, parts),
    readAwaited: (parts, since, limit) => readAwaited(database, parts, since, limit),
    forgetAdmissions: (rowsMax) => forgetAdmissions(database, rowsMax),
    purgeDevices: (purge, place, actor) => purgeDevices(database, purge, place, actor),
    countPurgeable: (purge, after) => countPurgeable(database, purge, after),
    readLabels: (devices) => readLabels(database, devices),
    readLabelChanges: (after, limit) => readLabelChanges(database, after, limit),
    sampleDevices: (scope) => sampleDevices(database, scope),
    listDevices: (app, filter) => listDevices(database, app, filter),
    readDevice: (app, deviceId) => readDevice(database, app, deviceId, keeping.history),
    readFleet: (app) => readFleet(database, app),
    readAdoption: (app, since) => readAdoption(database, app, since),
    sweepFleet: (devicesBefore, hoursBefore, rowsMax) =>
      sweepFleet(database, devicesBefore, hoursBefore, rowsMax),
    trimHistories: (rowsMax) => trimHistories(database, keeping.history, rowsMax),
    confirm,
    raiseEpoch: (above) => raiseEpoch(database, above),
    restoreOffers: (channelId, releaseIds) => restoreOffers(database, channelId, releaseIds),
    isReachable: () => isReachable(database),
    close: () => database.close(),
  };
}

async function isReachable(database: Database): Promise<boolean> {
  try {
    await database.query('SELECT 1');
    return true;
  } catch {
    return false;
  }
}
