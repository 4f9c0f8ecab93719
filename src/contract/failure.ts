// Every refusal the service can give: kind, HTTP status, message. Refusals are values that operations
// return; `throw` is left for bugs (500) and for a store that cannot be reached (503).

export const FAILURES = {
  invalid: { status: 400, message: 'Invalid request' },
  unauthorized: { status: 401, message: 'Invalid or revoked API key' },
  adminUnauthorized: { status: 401, message: 'Invalid admin token' },
  signedOut: { status: 401, message: 'Sign in first' },
  wrongLogin: { status: 401, message: 'Wrong email or password' },
  forbidden: { status: 403, message: 'Your role may not do this' },
  originNotAllowed: { status: 403, message: 'Origin not allowed' },
  badSignature: { status: 401, message: 'Missing or wrong X-Hub-Signature-256' },
  unknownApp: { status: 404, message: 'Unknown app' },
  unknownChannel: { status: 404, message: 'Unknown channel' },
  unknownRelease: { status: 404, message: 'Unknown release' },
  unknownOrganization: { status: 404, message: 'Unknown organization' },
  unknownDevice: { status: 404, message: 'Unknown device' },
  unknownKey: { status: 404, message: 'Unknown API key' },
  unknownMember: { status: 404, message: 'Unknown member' },
  unknownInvitation: { status: 404, message: 'Unknown or expired invitation' },
  unknownFile: { status: 404, message: 'Unknown file' },
  noReleaseOffered: { status: 404, message: 'No release offered' },
  notFound: { status: 404, message: 'Not found' },
  methodNotAllowed: { status: 405, message: 'Method not allowed' },
  versionExists: { status: 409, message: 'Version already exists on this app and channel' },
  rolledBack: { status: 409, message: 'A rolled-back release cannot be re-served' },
  refTaken: { status: 409, message: 'An app with this ref already exists' },
  channelExists: { status: 409, message: 'A channel with this name already exists on this app' },
  alreadySetUp: { status: 409, message: 'An account exists already: sign in' },
  alreadyMember: { status: 409, message: 'Already a member of this organization' },
  lastOwner: { status: 409, message: 'An organization must keep an owner' },
  tooManyInvitations: { status: 409, message: 'Too many open invitations: revoke some' },
  secretKeyMissing: {
    status: 409,
    message: 'Webhooks cannot be enabled: SECRET_KEY is not set',
  },
  bodyTooLarge: { status: 413, message: 'Request body too large' },
  narrowing: { status: 422, message: 'Serving can only widen once a release was offered' },
  rateLimited: { status: 429, message: 'Rate limit exceeded' },
  internal: { status: 500, message: 'Internal error' },
  webhookUnreadable: {
    status: 503,
    message: 'The webhook cannot be verified with the present SECRET_KEY: enable it again',
  },
  unavailable: { status: 503, message: 'Temporarily unavailable, try again shortly' },
} as const satisfies Record<string, { status: number; message: string }>;

export type FailureKind = keyof typeof FAILURES;

/** A refusal as a value. `retryAfterSeconds` becomes the `Retry-After` header where present. */
export type Failure = {
  readonly failure: FailureKind;
  readonly status: number;
  readonly message: string;
  readonly retryAfterSeconds?: number;
};

/** What an operation returns: its value, or the refusal. */
export type Outcome<Value> = Value | Failure;

/** Builds a refusal of the table; `message` replaces the table's where the case knows more. */
export function fail(failure: FailureKind, message?: string): Failure {
  const entry = FAILURES[failure];
  return { failure, status: entry.status, message: message ?? entry.message };
}

/** The refusal that names the field at fault, e.g. `devices.0.version: Invalid version`. */
export function invalidField(path: string, reason: string): Failure {
  return fail('invalid', `${path}: ${reason}`);
}

/** The refusal that tells the caller when to come back; whole seconds, at least 1. */
export function failUntil(failure: 'rateLimited' | 'unavailable', waitMs: number): Failure {
  return { ...fail(failure), retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) };
}

/** Tells a refusal from a value. */
export function isFailure<Value>(outcome: Outcome<Value>): outcome is Failure {
  return typeof outcome === 'object' && outcome !== null && 'failure' in outcome;
}
