// Refusals of a sign-in for what an OpenID Connect provider answered, or because it did not answer. Each has
// a reason for the person and a cause for the operator.

import * as openid from 'openid-client';
import type { OidcRefusal } from '../contract/oidc.ts';

/** Refusal of a provider's answer; `cause` is for the operator's log, and for the doctor. */
export class RefusedAnswer extends Error {
  readonly reason: OidcRefusal;

  constructor(reason: OidcRefusal, cause?: unknown) {
    super(`refused: ${reason}`, { cause });
    this.reason = reason;
  }
}

/** Reasons for a provider's errors, by their codes in RFC 6749 and OpenID Connect Core. */
const REASONS: ReadonlyMap<string, OidcRefusal> = new Map([
  ['access_denied', 'denied'],
  ['server_error', 'provider-failed'],
  ['temporarily_unavailable', 'provider-busy'],
  ['login_required', 'interaction-required'],
  ['interaction_required', 'interaction-required'],
  ['consent_required', 'interaction-required'],
  ['account_selection_required', 'interaction-required'],
  ['invalid_client', 'client-refused'],
  ['unauthorized_client', 'client-refused'],
  ['invalid_request', 'request-refused'],
  ['invalid_scope', 'request-refused'],
  ['unsupported_response_type', 'request-refused'],
  ['unsupported_grant_type', 'request-refused'],
]);

/** Returns the reason for an error; an error that the library found, not the provider, is `untrusted`. */
export function reasonOf(error: unknown): OidcRefusal {
  if (error instanceof openid.AuthorizationResponseError) {
    return REASONS.get(error.error) ?? 'denied';
  }
  if (!(error instanceof openid.ResponseBodyError)) return 'untrusted';
  // The code of the sign-in is used up, expired, or of another client.
  if (error.error === 'invalid_grant') return 'stale';
  return REASONS.get(error.error) ?? 'request-refused';
}

/** Returns whether the provider refused the client; it refuses a header with a challenge (RFC 6749, 5.2). */
export function isClientRefused(error: unknown): boolean {
  return error instanceof openid.ResponseBodyError
    ? error.error === 'invalid_client'
    : error instanceof openid.WWWAuthenticateChallengeError;
}

/** Returns the refusal for a failed discovery of the endpoints of `issuer`. */
export function refuseDiscovery(error: unknown, issuer: string): RefusedAnswer {
  const theirs = otherIssuerOf(error);
  if (theirs !== undefined) return refuseIssuer(theirs, issuer);
  const words = error instanceof Error ? error.message : String(error);
  return new RefusedAnswer(
    'no-provider',
    new Error(`its answer is not that of a provider: ${words}`, { cause: error }),
  );
}

/** Returns the refusal of a provider whose issuer is not exactly `issuer`; a slash at the end counts. */
export function refuseIssuer(theirs: string, issuer: string): RefusedAnswer {
  return new RefusedAnswer(
    'other-issuer',
    new Error(`it calls itself ${theirs}: OIDC_ISSUER, now ${issuer}, must be spelled the same`),
  );
}

/** Returns the issuer that an answer names if the library refused the answer for it. */
function otherIssuerOf(error: unknown): string | undefined {
  if (!(error instanceof openid.ClientError) || error.code !== COMPARISON) return undefined;
  const { body } = error.cause as { readonly body?: { readonly issuer?: unknown } };
  return typeof body?.issuer === 'string' ? new URL(body.issuer).href : undefined;
}

/** The library's error code for an answer that names another issuer than the one asked for. */
const COMPARISON = 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED';
