// How a service signs what its edges follow, which both sides have to know.

/** Header with the signatures of an answer, separated by commas: Ed25519, in base64url. */
export const EDGE_SIGNATURE_HEADER = 'sluice-signature';

/**
 * What the signed bytes begin with, so that nothing that the key signs for another purpose can stand for an
 * answer. The body of the answer follows.
 */
export const SIGNED_PREFIX = 'sluice edge v1\n';

/** Length of a public key in base64url: 32 bytes. */
export const PUBLIC_KEY_LENGTH = 43;
