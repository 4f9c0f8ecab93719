// Why the upstream does not answer, in words that anybody may read: `/readyz` tells them, so they name no
// address and quote nothing of what was answered. The log and `sluice doctor` have the whole error.

import { Unavailable } from '../contract/unavailable.ts';
import { RefusedByUpstream } from './upstream-client.ts';

const UNKNOWN_CERTIFICATE = 'its certificate is of an authority that this machine does not know';

/** What errors of Node.js mean, by their code. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens at its address',
  ECONNRESET: 'it ended the connection',
  EPIPE: 'it ended the connection',
  ENOTFOUND: 'its name is not known',
  EAI_AGAIN: 'its name cannot be looked up',
  ETIMEDOUT: 'no connection comes about',
  EHOSTUNREACH: 'there is no way to its address',
  ENETUNREACH: 'there is no way to its address',
  EPROTO: 'what answers at its address does not speak TLS as it should',
  HPE_INVALID_CONSTANT: 'what answers at its address does not speak HTTP: is it https?',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is of another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_CERTIFICATE,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_CERTIFICATE,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_CERTIFICATE,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_CERTIFICATE,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_CERTIFICATE,
};
/** Form of the codes of errors, none of which has room for an address. */
const CODE = /^[A-Z][A-Z0-9_]{2,63}$/;

/** Returns why a call to the upstream failed, without addresses and without what was answered. */
export function failureInWords(error: unknown): string {
  const cause = error instanceof Unavailable ? error.cause : error;
  if (cause instanceof RefusedByUpstream) return `it answers ${cause.status}: is it a service?`;
  if (!(cause instanceof Error)) return 'it does not answer';
  const { code } = cause as NodeJS.ErrnoException;
  if (code === undefined || !CODE.test(code)) return cause.message.split(':')[0] ?? '';
  const words = WORDS[code];
  return words === undefined ? code : `${words} (${code})`;
}
