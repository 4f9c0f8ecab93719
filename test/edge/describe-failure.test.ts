// Tests what anybody may read of an upstream that does not answer: why, and no address.

import { expect, it } from 'vitest';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { describeFailure, RefusedByUpstream } from '../../src/edge/upstream-client.ts';

function withCode(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

it.each([
  [withCode('ECONNREFUSED', 'connect ECONNREFUSED 10.0.0.7:8080'), /^nothing listens .*ECONNREF/],
  [withCode('ENOTFOUND', 'getaddrinfo ENOTFOUND db.internal'), /^its name is not known/],
  [withCode('ERR_TLS_CERT_ALTNAME_INVALID', 'Host: db.internal. is not'), /for another name/],
  [withCode('UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'unable to verify'), /an authority unknown/],
  [withCode('ESTRANGE', 'strange 10.0.0.7'), /^ESTRANGE$/],
  [withCode('10.0.0.7', 'strange: 10.0.0.7'), /^strange$/],
  [new RefusedByUpstream(404, 'no such page on db.internal'), /^it answers 404: is it a service/],
  [new Error('it answers 502: db.internal is down'), /^it answers 502$/],
  [new Error('no answer within 4000 ms'), /^no answer within 4000 ms$/],
  [undefined, /^it does not answer$/],
])('%o is told in words without an address', (cause, words) => {
  for (const error of [cause, new Unavailable('upstream', cause)]) {
    expect(describeFailure(error)).toMatch(words);
    expect(describeFailure(error)).not.toMatch(/10\.0\.0\.7|internal/);
  }
});
