// The SQL implementation of the ledger on any `Database`.

import { isFailure } from '../../contract/failure.ts';
import type { AccountLedger } from '../account-ledger.ts';
import type { ConsoleLedger, EdgeLedger, WebhookLedger } from '../console-ledger.ts';
import type { PlanLedger } from '../fleet-ledger.ts';
import type { Ledger } from '../ledger.ts';
import {
  changePassword,
  createPasswordReset,
  endSession,
  endSessions,
  findAccount,
  findPasswordReset,
  findSession,
  hasAccounts,
  openSession,
  readSigningKey,
  recordFailedSignIns,
  usePasswordReset,
} from './accounts.ts';
import { announceRelease, callBackRelease } from './announced-releases.ts';
import {
  createApp,
  findReleaseApps,
  listAppOverviews,
  listApps,
  readChannel,
  searchOrganization,
  updateApp,
} from './apps.ts';
import { atomically } from './atomically.ts';
import { listAudit } from './audit.ts';
import { listChannelReleases } from './channel-releases.ts';
import {
  createChannel,
  listChannelNames,
  listChannels,
  readChannelStates,
  readRevisions,
  updateChannel,
} from './channels.ts';
import {
  type DeviceKeeping,
  forgetAdmissions,
  readAwaited,
  readTime,
  readWriters,
  recordCheckIns,
  recordChecks,
  USUAL_KEEPING,
} from './check-ins.ts';
import type { Database } from './database.ts';
import {
  countLabels,
  countPurgeable,
  listDevices,
  purgeDevices,
  readDevice,
  sampleDevices,
} from './devices.ts';
import {
  countSeen,
  readAdoption,
  readAdoptionSteps,
  readFleet,
  sweepFleet,
  trimHistories,
} from './fleet-counts.ts';
import {
  createEdgeToken,
  createKey,
  findEdgeToken,
  findKey,
  listEdgeTokens,
  listKeys,
  recordKeyUses,
  revokeEdgeToken,
  revokeKey,
} from './keys.ts';
import { readLabelChanges, readLabels } from './labels.ts';
import { findApp } from './lookups.ts';
import {
  acceptInvitation,
  changeMember,
  createFirstAccount,
  createInvitation,
  createOrganization,
  findInvitation,
  listInvitations,
  listMembers,
  listMemberships,
  renameOrganization,
  revokeInvitation,
} from './organizations.ts';
import { rehearsePromotion, rehearsePublish, rehearseServing } from './rehearsals.ts';
import { rehearsePlan } from './rehearse-plan.ts';
import {
  listReleases,
  readOwnedRelease,
  readReleaseAdoption,
  readReleaseDetail,
} from './release-reads.ts';
import {
  forgetIdempotencyKeys,
  promoteRelease,
  publishRelease,
  withdrawRelease,
} from './releases.ts';
import { findAccessRight, findAppAccessRight, findLostRight } from './rights.ts';
import {
  countPlanTime,
  createPlan,
  drivePlan,
  plansToDrive,
  readHealth,
  readPlan,
  steerPlan,
} from './rollout-plans.ts';
import { listSignalDevices, readTrouble, recordFailures } from './rollout-signals.ts';
import { controlServing, raiseEpoch, recordFirstOffer, restoreOffers } from './serving-control.ts';
import { readSnapshot } from './snapshots.ts';
import {
  disableWebhooks,
  enableWebhook,
  findEnabledWebhook,
  listSealedSecrets,
  readEnabledWebhooks,
  readWebhooks,
  recordDelivery,
  replaceSealedSecrets,
  updateWebhook,
} from './webhooks.ts';
import { withoutCompiling } from './without-compiling.ts';

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

// SQL implementation of the ledger's accounts, sessions, members and invitations. Each method is one function
// of query/.

/** Creates the account part of the ledger on a database, as `createSqlLedger` requires it. */
function createSqlAccountLedger(database: Database): AccountLedger {
  return {
    hasAccounts: () => hasAccounts(database),
    createFirstAccount: (account, name) => createFirstAccount(database, account, name),
    findAccount: (email) => findAccount(database, email),
    openSession: (account, session) => openSession(database, account, session),
    recordFailedSignIns: (failed) => recordFailedSignIns(database, failed),
    readSigningKey: (name, draft) => readSigningKey(database, name, draft),
    findSession: (tokenHash, now, idleSince) => findSession(database, tokenHash, now, idleSince),
    endSession: (tokenHash) => endSession(database, tokenHash),
    endSessions: (accountId) => endSessions(database, accountId),
    changePassword: (before, after, actor) => changePassword(database, before, after, actor),
    createPasswordReset: (reset, actor) => createPasswordReset(database, reset, actor),
    findPasswordReset: (tokenHash, now) => findPasswordReset(database, tokenHash, now),
    usePasswordReset: (tokenHash, passwordHash, now) =>
      usePasswordReset(database, tokenHash, passwordHash, now),
    listMemberships: (accountId) => listMemberships(database, accountId),
    findAccessRight: (accountId, target) => findAccessRight(database, accountId, target),
    findAppAccessRight: (accountId, app) => findAppAccessRight(database, accountId, app),
    listMembers: (organizationId) => listMembers(database, organizationId),
    changeMember: (organizationId, accountId, role, actor) =>
      changeMember(database, organizationId, accountId, role, actor),
    listInvitations: (organizationId, now) => listInvitations(database, organizationId, now),
    createInvitation: (invitation, actor) => createInvitation(database, invitation, actor),
    revokeInvitation: (id, now, actor) => revokeInvitation(database, id, now, actor),
    findInvitation: (tokenHash, now) => findInvitation(database, tokenHash, now),
    acceptInvitation: (tokenHash, account, now) =>
      acceptInvitation(database, tokenHash, account, now),
    renameOrganization: (id, name, actor) => renameOrganization(database, id, name, actor),
  };
}

// SQL implementation of the ledger's reads for the console. Each method is one function of query/.

/** Creates the console part of the ledger on a database, as `createSqlLedger` requires it. */
function createSqlConsoleLedger(database: Database): ConsoleLedger {
  return {
    listKeys: (organizationId) => listKeys(database, organizationId),
    recordKeyUses: (uses) => recordKeyUses(database, uses),
    listAppOverviews: (organizationId, seenSince) =>
      listAppOverviews(database, organizationId, seenSince),
    readChannel: (app, name) => readChannel(database, app, name),
    countSeen: (appId, channel, since) => countSeen(database, appId, channel, since),
    search: (organizationId, text) => searchOrganization(database, organizationId, text),
    listChannelReleases: (appId, channel, wanted) =>
      withoutCompiling(database, (sql) => listChannelReleases(sql, appId, channel, wanted)),
    readReleaseDetail: (app, channel, canonicalVersion) =>
      readReleaseDetail(database, app, channel, canonicalVersion),
    countLabels: (appId) => countLabels(database, appId),
    readAdoptionSteps: (appId, filter) => readAdoptionSteps(database, appId, filter),
  };
}

// SQL implementation of what edges need of the ledger. Each method is one function of query/.

/** Creates the part of the ledger on a database. */
function createSqlEdgeLedger(database: Database): EdgeLedger {
  return {
    createEdgeToken: (token, actor) => createEdgeToken(database, token, actor),
    listEdgeTokens: () => listEdgeTokens(database),
    revokeEdgeToken: (id, actor) => revokeEdgeToken(database, id, actor),
    findEdgeToken: (prefix) => findEdgeToken(database, prefix),
    findReleaseApps: (releaseIds) => findReleaseApps(database, releaseIds),
    readChannelStates: (countMax) => readChannelStates(database, countMax),
  };
}

// SQL implementation of the part of the ledger that keeps roll-out plans. Each method is one function of
// query/.

/** Creates the methods that keep roll-out plans on a database. */
function createSqlPlanLedger(database: Database): PlanLedger {
  return {
    createPlan: (reach, name, definition, actor, reason, known) =>
      createPlan(database, reach, name, definition, actor, reason, known),
    rehearsePlan: (reach, name, definition, actor, held, known) =>
      rehearsePlan(database, reach, name, definition, actor, { held, known }),
    steerPlan: (reach, name, action, actor, reason) =>
      steerPlan(database, reach, name, action, actor, reason),
    readPlan: (reach, name) => withoutCompiling(database, (sql) => readPlan(sql, reach, name)),
    readHealth: (reach, name, knownForMinutes) =>
      withoutCompiling(database, (sql) => readHealth(sql, reach, name, knownForMinutes)),
    readTrouble: (reach, name) => readTrouble(database, reach, name),
    readReleaseAdoption: (reach, name) => readReleaseAdoption(database, reach, name),
    listSignalDevices: (reach, name, signal, filter) =>
      listSignalDevices(database, reach, name, signal, filter),
    countPlanTime: () => countPlanTime(database),
    listPlansToDrive: (checkMs, countMax) => plansToDrive(database, checkMs, countMax),
    drivePlan: (plan, seenUpToMs, known) => drivePlan(database, plan, seenUpToMs, known),
    recordFailures: (failures) => database.transaction((sql) => recordFailures(sql, failures)),
    async recordReportedFailures(failures, actor) {
      const recorded = await atomically(database, actor, (sql) => recordFailures(sql, failures));
      return isFailure(recorded) ? recorded : undefined;
    },
  };
}

// SQL implementation of the part of the ledger that keeps release webhooks. Each method is one function of
// query/.

/** Creates the methods that keep release webhooks on a database. */
function createSqlWebhookLedger(database: Database): WebhookLedger {
  return {
    enableWebhook: (appId, webhook, actor) => enableWebhook(database, appId, webhook, actor),
    updateWebhook: (name, change, actor) => updateWebhook(database, name, change, actor),
    disableWebhooks: (appId, provider, actor) => disableWebhooks(database, appId, provider, actor),
    findEnabledWebhook: (app, provider) => findEnabledWebhook(database, app, provider),
    listSealedSecrets: (after, countMax) => listSealedSecrets(database, after, countMax),
    replaceSealedSecrets: (changes) => replaceSealedSecrets(database, changes),
    readEnabledWebhooks: (organizationId) => readEnabledWebhooks(database, organizationId),
    readWebhooks: (appId) => readWebhooks(database, appId),
    recordDelivery: (delivery, actor) => recordDelivery(database, delivery, actor),
    announceRelease: (organizationId, announced, actor, known) =>
      announceRelease(database, organizationId, announced, actor, known),
    callBackRelease: (organizationId, name, call, actor, known) =>
      callBackRelease(database, organizationId, name, call, actor, known),
  };
}
