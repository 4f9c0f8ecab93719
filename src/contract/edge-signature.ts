// How a service signs its answers to edges, for both sides.

/** Header with the signatures of an answer, separated by commas: Ed25519, in base64url. */
export const EDGE_SIGNATURE_HEADER = 'sluice-signature';
/** Maximum number of signatures of an answer that are tried: as many as SECRET_KEY may have values. */
export const SIGNATURES_MAX = 8;

/** Header with a nonce that makes each call of an edge unique. */
export const EDGE_NONCE_HEADER = 'sluice-nonce';

/** Header with the name of the record that an edge follows, in each of its calls once it knows one. */
export const EDGE_RECORD_HEADER = 'sluice-record';

/** Form of a nonce. */
export const NONCE = /^[\w-]{16,64}$/;

/** Prefix of the signed bytes: no signature by this key for another purpose passes as an answer. */
const SIGNED_PREFIX = 'sluice edge v1\n';

/**
 * Returns what is signed before the body of an answer, so that an answer passes for no other answer and for
 * no other call, such as that nothing changed, or that check-ins were accepted.
 */
export function signedHead(nonce: string, status: number): string {
  return `${SIGNED_PREFIX}${nonce}\n${status}\n`;
}

/** Length of a public key in base64url: 32 bytes. */
export const PUBLIC_KEY_LENGTH = 43;
