// Values of the labels of counters. Each has a series from the start, so that Prometheus sees the first event
// as an increase. docs/operating/metrics.md says what each value means.

import type { Reason } from '../contract/explanation.ts';

/** All reasons of checks: a check with a reason that is missing here could not be counted. */
export const CHECK_REASONS = Object.keys({
  offered: true,
  'up-to-date': true,
  'no-artifact': true,
  'not-targeted': true,
  'outside-cohort': true,
  'rolled-back-without-fallback': true,
  'first-offer-unavailable': true,
} satisfies Record<Reason, true>) as readonly Reason[];

/** Outcomes of an app's checks. */
export const APP_OUTCOMES = ['offered', 'nothing', 'unavailable'] as const;

/** What polls of devices that speak DDI came to; `unknown`: the device is not on record yet. */
export const DDI_POLL_OUTCOMES = ['nothing', 'offer', 'cancel', 'barred', 'unknown'] as const;

/** What reports of devices that speak DDI came to. */
export const DDI_REPORT_OUTCOMES = [
  'progress',
  'succeeded',
  'failed',
  'canceled',
  'ignored',
  'unreadable',
  'dropped',
  'unanswered',
] as const;

/** Executions in feedback, the last for texts that clients do not send. */
export const DDI_EXECUTIONS = [
  'closed',
  'proceeding',
  'canceled',
  'scheduled',
  'rejected',
  'resumed',
  'download',
  'downloaded',
  'other',
] as const;

/** Results in feedback, the last for texts that clients do not send. */
export const DDI_RESULTS = ['success', 'failure', 'none', 'other'] as const;

/** Stores in which the state of a device that speaks DDI was read. */
export const DDI_STATE_SOURCES = ['engine', 'ledger'] as const;

export const FIRST_OFFER_OUTCOMES = ['recorded', 'stale', 'unavailable', 'late', 'shared'] as const;

/** HTTP engines; a node uses one of them. */
export const HTTP_ENGINES = ['uws', 'node'] as const;

export const CATALOG_SOURCES = ['ledger', 'engine', 'disk'] as const;

export const CHECK_IN_OUTCOMES = [
  'accepted',
  'stored',
  'unadmitted',
  'handed-over',
  'dropped',
] as const;

export const CONNECTION_OUTCOMES = ['accepted', 'refused'] as const;

export const SIGN_IN_OUTCOMES = ['succeeded', 'failed', 'limited'] as const;

export const DELIVERY_OUTCOMES = [
  'created',
  'duplicate',
  'ignored',
  'refused',
  'badSignature',
  'bodyTooLarge',
  'bodyTooSlow',
  'unavailable',
] as const;

export const DEVICE_LIMIT_OUTCOMES = ['refused', 'settled'] as const;

export const PROCESS_EVENTS = ['restarted', 'hung', 'silent'] as const;

export const REWIND_EVENTS = ['epoch-raised', 'offer-restored', 'channel-lost'] as const;

/** Outcomes of notifications: tries that delivered or failed, and messages dropped because of their age. */
export const NOTIFICATION_OUTCOMES = ['delivered', 'failed', 'dropped'] as const;

export const EDGE_REFUSALS = [
  'unsigned',
  'tampered',
  'replayed',
  'foreign',
  'malformed',
  'revoked',
] as const;

/** Places in the code that survive a fault of a store, by the store. */
export const FAULT_PLACES = [
  // PostgreSQL
  'cold-load',
  'poll',
  'names',
  'action-read',
  'action-write',
  'label-write',
  'check-in-record',
  'plan-drive',
  'notify',
  'label-poll',
  'sweep',
  'deliveries',
  'clock',
  'compare',
  'ledger-refused',
  'ledger-foreign',
  // Redis
  'engine-read',
  'engine-write',
  'spread',
  'names-read',
  'names-share',
  'check-in-append',
  'check-in-take',
  'check-in-share',
  'label-read',
  'label-share',
  'action-feed',
  'device-rate',
  'rate',
  'login',
  'live',
  'edge-index',
  // The service of an edge
  'upstream-follow',
  'hand-over',
  // The disk and the node itself
  'disk',
  'notes',
] as const;

export type FaultPlace = (typeof FAULT_PLACES)[number];
