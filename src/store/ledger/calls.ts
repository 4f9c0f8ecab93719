// Calls of the ledger that depend only on the database, each a function in the file of its noun.

export { listAppOverviews } from './app/app-overviews.ts';
export { createApp, findReleaseApps, listApps, readChannel } from './app/apps.ts';
export {
  createChannel,
  listChannelNames,
  listChannels,
  readChannelStates,
  readRevisions,
} from './app/channels.ts';
export { declineApproval, failApproval, sweepApprovals } from './change/approval-decisions.ts';
export { findApproval, listApprovals, storeApprovalEffect } from './change/approvals.ts';
export { forgetAudit, listAudit } from './change/audit.ts';
export { findApp } from './change/channels.ts';
export { findAccessRight, findAppAccessRight } from './change/rights.ts';
export { readSnapshot } from './change/snapshots.ts';
export {
  readActionChanges,
  readActions,
  readShownActions,
  writeActions,
} from './fleet/actions.ts';
export { forgetAdmissions, readAwaited, readTime, readWriters } from './fleet/check-ins.ts';
export { listDeviceReleases } from './fleet/device-releases.ts';
export { sampleDevices } from './fleet/device-samples.ts';
export {
  countDevices,
  countLabels,
  countPurgeable,
  listDevices,
  purgeDevices,
} from './fleet/devices.ts';
export { eraseDevice, forgetErasures } from './fleet/erased-devices.ts';
export {
  countSeen,
  readAdoption,
  readAdoptionSteps,
  readFleet,
  sweepFleet,
} from './fleet/fleet-counts.ts';
export { readLabelChanges, readLabels } from './fleet/labels.ts';
export { recordMistakenIds } from './fleet/mistaken-ids.ts';
export {
  changePassword,
  createAccountLink,
  findAccount,
  isSetUp,
  readSigningKey,
  recordFailedSignIns,
  usePasswordReset,
} from './people/accounts.ts';
export {
  addDdiSecret,
  createGatewayToken,
  listDdiCredentials,
  listDdiSecrets,
  makeDeviceTokens,
  readDdiCredentials,
  recordGatewayTokenUses,
  removeDdiSecret,
  replaceDdiSecrets,
  revokeGatewayToken,
} from './people/ddi-credentials.ts';
export {
  countWaitingMessages,
  dropOldMessages,
  leaseDestinations,
  leaseMails,
  nextDelivery,
  recordMail,
  recordTry,
  releaseDestination,
} from './people/deliveries.ts';
export { listDeliveries, sendAgain, testDestination } from './people/destination-messages.ts';
export {
  createDestination,
  disableDestination,
  findDestination,
  listDestinationSecrets,
  listDestinations,
  removeDestination,
  replaceDestinationSecrets,
  rotateDestination,
  updateDestination,
} from './people/destinations.ts';
export { enterByIdentity, joinIdentity, storeArrival } from './people/identities.ts';
export {
  acceptInvitation,
  createInvitation,
  listInvitations,
  revokeInvitation,
} from './people/invitations.ts';
export {
  createEdgeToken,
  createKey,
  findEdgeToken,
  findKey,
  listEdgeTokens,
  listKeys,
  recordKeyUses,
  revokeEdgeToken,
  revokeKey,
  tellRefusedEdge,
} from './people/keys.ts';
export {
  changeMember,
  createFirstAccount,
  createFirstOrganization,
  createOrganization,
  listMembers,
  listMemberships,
  updateOrganization,
} from './people/organizations.ts';
export {
  addPasskey,
  findPasskey,
  listPasskeys,
  openSessionByPasskey,
  removePasskey,
  renamePasskey,
  useRecovery,
} from './people/passkeys.ts';
export { findRecipientLink, isMemberEmail } from './people/recipient-links.ts';
export { answerRecipientLink, renewRecipientLink } from './people/recipients.ts';
export {
  endOtherSessions,
  endSession,
  endSessionById,
  endSessions,
  findSession,
  listSessions,
  openSession,
} from './people/sessions.ts';
export { announceRelease, retractRelease } from './release/announced-releases.ts';
export { forgetIdempotencyKeys } from './release/idempotency-keys.ts';
export {
  listReleases,
  readOwnedRelease,
  readReleaseAdoption,
  readReleaseDetail,
} from './release/release-reads.ts';
export { readStatusChanges } from './release/status-changes.ts';
export {
  bindRepository,
  disableWebhooks,
  enableWebhook,
  findEnabledWebhook,
  listSealedSecrets,
  readEnabledWebhooks,
  readWebhooks,
  recordDelivery,
  replaceSealedSecrets,
  updateWebhook,
} from './release/webhooks.ts';
export { readFailureBreakdown } from './rollout/release-failures.ts';
export {
  beginPlanTurn,
  countPlans,
  drivePlan,
  listRegions,
  noteRegion,
  steerPlan,
} from './rollout/rollout-plans.ts';
export { listSignalDevices } from './rollout/rollout-signals.ts';
export { raiseEpoch, recordFirstOffer, restoreOffers } from './rollout/serving-control.ts';
export { measureStop } from './rollout/stops.ts';
