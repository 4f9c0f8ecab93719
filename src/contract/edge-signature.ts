// How a service signs what its edges follow, which both sides have to know.

/** Header with the signatures of an answer, separated by commas: Ed25519, in base64url. */
export const EDGE_SIGNATURE_HEADER = 'sluice-signature';

/** Header with which an edge makes each of its calls another one. */
export const EDGE_NONCE_HEADER = 'sluice-nonce';

/** Header with the name of the record that an edge follows, in each of its calls once it knows one. */
export const EDGE_RECORD_HEADER = 'sluice-record';

/** Form of what the header of the nonce holds. */
export const NONCE = /^[\w-]{16,64}$/;

/**
 * What the signed bytes begin with, so that nothing that the key signs for another purpose can stand for an
 * answer.
 */
const SIGNED_PREFIX = 'sluice edge v1\n';

/**
 * Returns what is signed before the body of an answer: an answer stands for no other one, and for none to
 * another call, such as that nothing has changed, or that check-ins were taken over.
 */
export function signedHead(nonce: string, status: number): string {
  return `${SIGNED_PREFIX}${nonce}\n${status}\n`;
}

/** Length of a public key in base64url: 32 bytes. */
export const PUBLIC_KEY_LENGTH = 43;
