// Every refusal of the service with its message. Operations return refusals as values; they throw only for
// bugs and for unavailable stores. src/http/transport/reply.ts has the HTTP status of each.

import { SIGNATURE_HEADERS, type WebhookProvider } from './choice.ts';
import type { Finding } from './dry-run.ts';
import type { KeyRight, StoredApproval } from './resource.ts';

export const FAILURES = {
  invalid: 'Invalid request',
  unauthorized: 'Invalid or revoked API key',
  adminUnauthorized: 'Invalid admin token',
  signedOut: 'Sign in first',
  wrongPasskey: 'This passkey was not accepted',
  wrongLogin: 'Wrong email or password',
  secondFactorNeeded: 'This organization asks for a second factor',
  secondFactorFirst: 'Sign in with a passkey or single sign-on first',
  passwordsOff: 'Passwords are off here: sign in with the provider',
  accountKnown: 'This address has an account: prove that it is yours',
  identityTaken: 'This account is of another person of the provider',
  unknownArrival: 'This sign-in has taken too long: begin again',
  providerAway: 'The sign-in provider cannot be reached: try again shortly',
  otherProvider: 'The sign-in provider calls itself otherwise than OIDC_ISSUER: tell the operator',
  noProvider: 'No sign-in provider answers at OIDC_ISSUER: tell the operator',
  forbidden: 'Your role may not do this',
  keyMayNot: 'This key may not do this',
  originNotAllowed: 'Origin not allowed',
  badSignature: 'Missing or wrong signature',
  unknownApp: 'Unknown app',
  unknownChannel: 'Unknown channel',
  unknownRelease: 'Unknown release',
  unknownPlan: 'No plan',
  unknownStop: 'Unknown stop',
  unknownApproval: 'Unknown approval',
  unknownOrganization: 'Unknown organization',
  unknownDevice: 'Unknown device',
  unknownKey: 'Unknown API key',
  unknownEdgeToken: 'Unknown edge token',
  unknownGatewayToken: 'Unknown gateway token',
  unknownDdiSecret: 'Unknown secret of device tokens',
  edgeUnauthorized: 'Invalid or revoked edge token',
  unknownDestination: 'Unknown destination',
  unknownDelivery: 'Unknown delivery',
  unknownMember: 'Unknown member',
  unknownInvitation: 'Unknown or expired invitation',
  unknownAccount: 'Unknown account',
  unknownPasskey: 'Unknown passkey',
  unknownSession: 'Unknown session',
  unknownReset: 'Unknown or expired link',
  unknownFile: 'Unknown file',
  unknownAction: 'Unknown action',
  deviceUnauthorized: 'Invalid device credentials',
  unknownWebhook: 'The app has no webhook of this code host that is on',
  noReleaseOffered: 'No release offered',
  noDownload: 'No download',
  notFound: 'Not found',
  methodNotAllowed: 'Method not allowed',
  versionExists: 'Version already exists on this app and channel',
  appArchived: 'This app is archived: it takes no releases and no channels',
  channelFull: 'The channel can take no more releases',
  versionWithdrawn: 'This version was withdrawn: publish it through the API',
  notPromotable: 'This release cannot be promoted',
  notPublished: 'This release is not published',
  idempotencyKeyUsed: 'Idempotency-Key was used for another request',
  changedMeanwhile: 'Somebody changed this release meanwhile',
  planRefused: 'The plan does not allow this now',
  awaitsApproval: 'This waits for an approval',
  tooManyApprovals: 'Too many requests wait for an approval on this channel: decide them first',
  approvalDecided: 'This request was decided already',
  approvalFailed: 'The request cannot be carried out any more',
  rolledBack: 'A rolled-back release cannot be re-served',
  alreadyOffered:
    'This release was already offered: pause it to stop offering it, or roll it back to pull it',
  alreadyRunning: 'This release already runs on devices',
  refTaken: 'An app with this ref already exists',
  channelExists: 'A channel with this name already exists on this app',
  followsInCircle: 'A channel cannot follow itself, nor one that follows it',
  ddiNeedsAuth: 'DDI needs ddiAuth: set open or token for the app first',
  alreadySetUp: 'An account exists already: sign in',
  passkeysUnavailable: 'Passkeys need the address of the console: the operator sets ADMIN_URL',
  staleChallenge: 'This was asked too long ago, or was answered already: try again',
  passkeyTaken: 'This passkey is registered already',
  tooManyPasskeys: 'Too many passkeys: remove some',
  alreadyMember: 'Already a member of this organization',
  lastOwner: 'An organization must keep an owner',
  tooManyInvitations: 'Too many open invitations: revoke some',
  tooManyDestinations: 'Too many destinations: remove some',
  tooManyGatewayTokens: 'Too many gateway tokens: revoke one',
  tooManyDdiSecrets: 'Too many secrets of device tokens: remove one',
  destinationOff: 'This destination is off: turn it on first',
  noSecret: 'Only a webhook has a secret',
  recipientKnown: 'This recipient needs no link',
  unknownLink: 'Unknown or expired link',
  mailMissing: 'Mail cannot be sent: SMTP_URL is not set',
  notEmbedded: 'This service keeps its ledger in PostgreSQL: back it up with pg_dump',
  backupRunning: 'Another backup is being taken, or was broken off within ten minutes',
  secretKeyMissing: 'Webhooks cannot be enabled: SECRET_KEY is not set',
  otherRecord: 'This service is of another record than the edge follows',
  edgesNeedSecretKey: 'Edges cannot follow this service: SECRET_KEY is not set',
  bodyTooLarge: 'Request body too large',
  bodyTooSlow: 'Request body took too long',
  narrowing: 'Serving can only widen once a release was offered',
  rateLimited: 'Rate limit exceeded',
  tooManyFeeds: 'Too many open live feeds: close some',
  internal: 'Internal error',
  webhookUnreadable: 'The webhook cannot be verified with the present SECRET_KEY: enable it again',
  ddiSecretUnreadable:
    'The secret of device tokens cannot be read with the present SECRET_KEY: add another one',
  unavailable: 'Temporarily unavailable, try again shortly',
} as const satisfies Record<string, string>;

export type FailureKind = keyof typeof FAILURES;

/** Kinds of refusal for a resource that does not exist, or whose existence the caller must not learn. */
export type UnknownPlace =
  | 'unknownApp'
  | 'unknownOrganization'
  | 'unknownKey'
  | 'unknownInvitation'
  | 'unknownDestination'
  | 'unknownApproval';

export type Failure<Kind extends FailureKind = FailureKind> = {
  readonly failure: Kind;
  readonly message: string;
  /** Seconds after which the caller may try again. */
  readonly retryAfterSeconds?: number;
  /** Request that was stored instead of the change (`awaitsApproval`). */
  readonly approval?: StoredApproval;
  /** Problems of the change that was stored as a request (`awaitsApproval`). */
  readonly findings?: readonly Finding[];
  /** Whether an earlier call with the same idempotency key stored that request. */
  readonly isRepeated?: boolean;
};

/** Result of an operation: its value, or a refusal of one of these kinds. */
export type Outcome<Value, Kind extends FailureKind = FailureKind> = Value | Failure<Kind>;

/** Builds a refusal; `message` replaces the default message. */
export function fail<Kind extends FailureKind>(failure: Kind, message?: string): Failure<Kind> {
  return { failure, message: message ?? FAILURES[failure] };
}

/** Builds the refusal of a wrong field, with its path: `devices.0.version: Invalid version`. */
export function invalidField(path: string, reason: string): Failure<'invalid'> {
  return fail('invalid', `${path}: ${reason}`);
}

/** Builds a refusal with the wait before the next attempt, in whole seconds, at least 1. */
export function failUntil<Kind extends 'rateLimited' | 'tooManyFeeds' | 'unavailable'>(
  failure: Kind,
  waitMs: number,
): Failure<Kind> {
  return { ...fail(failure), retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) };
}

/** Returns whether an outcome is a refusal. */
export function isFailure(outcome: unknown): outcome is Failure {
  return typeof outcome === 'object' && outcome !== null && 'failure' in outcome;
}

const PHRASES: Readonly<Record<KeyRight, string>> = {
  read: 'read',
  publish: 'publish',
  control: 'change how releases are served',
  fleet: 'report or plan for devices',
};

/** Returns the refusal of a key without the needed right; undefined if it has the right. */
export function refuseRight(lacking: KeyRight | undefined): Failure<'keyMayNot'> | undefined {
  return lacking && fail('keyMayNot', `This key may not ${PHRASES[lacking]}`);
}

/** Builds the refusal of a delivery that is not signed; it names this code host's signature header. */
export function refuseSignature(provider: WebhookProvider): Failure<'badSignature'> {
  return fail('badSignature', `Missing or wrong ${SIGNATURE_HEADERS[provider]}`);
}
