// Tests for how long a token of edges counts as it was read (§29.2), and that edges can tell what their
// service signed (§29.3).

import { createPublicKey, verify } from 'node:crypto';
import { expect, it } from 'vitest';
import { createBearerSecret } from '../../src/access/api-keys.ts';
import { PUBLIC_KEY_LENGTH, signedHead } from '../../src/contract/edge.ts';
import { fail } from '../../src/contract/failure.ts';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { AuthenticateEdge, EdgeSigner } from '../../src/edge/server/edge-tokens.ts';
import { SecretBox } from '../../src/notify/secret-box.ts';
import type { StoredEdgeToken } from '../../src/store/console-ledger.ts';

const SECOND_MS = 1000;
const HOUR_MS = 3_600_000;

/** A ledger with one token, which can be away, and a clock. */
function furnish() {
  const { secret, prefix, hash } = createBearerSecret('sluice-edge');
  const state = {
    now: 0,
    lookups: 0,
    told: [] as string[],
    isAway: false,
    token: { id: 'edt_1', organizationId: 'org_1', secretHash: hash, isRevoked: false },
  };
  const ledger = {
    async findEdgeToken(wanted: string): Promise<StoredEdgeToken | undefined> {
      state.lookups += 1;
      if (state.isAway) throw new Unavailable('ledger', new Error('away'));
      return wanted === prefix ? state.token : undefined;
    },
    async tellRefusedEdge(id: string): Promise<void> {
      if (state.isAway) throw new Unavailable('ledger', new Error('away'));
      state.told.push(id);
    },
  };
  return { state, secret, edges: new AuthenticateEdge(ledger, () => state.now) };
}

it('a valid token names its scope; a missing, a malformed and a wrong one are refused', async () => {
  const { edges, secret } = furnish();
  expect(await edges.authenticate(secret)).toEqual({ tokenId: 'edt_1', scope: 'org_1' });
  const wrong = `${secret.slice(0, -1)}${secret.endsWith('A') ? 'B' : 'A'}`;
  for (const other of [
    undefined,
    '',
    'sluice-edge_',
    wrong,
    createBearerSecret('sluice-edge').secret,
  ]) {
    expect(await edges.authenticate(other)).toEqual(fail('edgeUnauthorized'));
  }
});

it('a token is looked up once in four seconds, and refused within five when revoked', async () => {
  const { edges, secret, state } = furnish();
  await edges.authenticate(secret);
  state.token = { ...state.token, isRevoked: true };
  state.now = 3 * SECOND_MS;
  await edges.authenticate(secret);
  expect(state.lookups).toBe(1);
  state.now = 5 * SECOND_MS;
  expect(await edges.authenticate(secret)).toEqual(fail('edgeUnauthorized'));
});

it('while the ledger is away a known token counts for an hour, and a new one not', async () => {
  const { edges, secret, state } = furnish();
  await edges.authenticate(secret);
  state.isAway = true;
  state.now = HOUR_MS - SECOND_MS;
  expect(await edges.authenticate(secret)).toMatchObject({ tokenId: 'edt_1' });
  state.now = HOUR_MS + SECOND_MS;
  await expect(edges.authenticate(secret)).rejects.toThrow(Unavailable);
  await expect(edges.authenticate(createBearerSecret('sluice-edge').secret)).rejects.toThrow(
    Unavailable,
  );
});

it('that a revoked token is refused is told once (§30.1)', async () => {
  const { edges, secret, state } = furnish();
  state.token = { ...state.token, isRevoked: true };
  for (let count = 0; count < 3; count++) {
    expect(await edges.authenticate(secret)).toEqual(fail('edgeUnauthorized'));
  }
  expect(state.told).toEqual(['edt_1']);
});

const SPKI_HEAD = Buffer.from('302a300506032b6570032100', 'hex');
const BODY = Buffer.from('{"kind":"index"}');
const NONCE = '0123456789abcdef';

function isSignedBy(
  publicKey: string,
  body: Buffer,
  signature: string,
  nonce = NONCE,
  status = 200,
): boolean {
  const spki = Buffer.concat([SPKI_HEAD, Buffer.from(publicKey, 'base64url')]);
  const key = createPublicKey({ key: spki, format: 'der', type: 'spki' });
  const signed = Buffer.concat([Buffer.from(signedHead(nonce, status)), body]);
  return verify(null, signed, key, Buffer.from(signature, 'base64url'));
}

it('the key of a token verifies what was signed, and nothing else', () => {
  const signer = new EdgeSigner(new SecretBox(['a secret']));
  expect(signer.publicKey).toHaveLength(PUBLIC_KEY_LENGTH);
  const signature = signer.sign(NONCE, 200, BODY);
  expect(isSignedBy(signer.publicKey, BODY, signature)).toBe(true);
  expect(isSignedBy(signer.publicKey, Buffer.from('{"kind":"Index"}'), signature)).toBe(false);
  expect(isSignedBy(signer.publicKey, BODY, signature, 'fedcba9876543210')).toBe(false);
  expect(isSignedBy(signer.publicKey, BODY, signature, NONCE, 304)).toBe(false);
});

it('every node with the same SECRET_KEY has the same key, and no other has it', () => {
  const keyOf = (secret: string) => new EdgeSigner(new SecretBox([secret])).publicKey;
  expect(keyOf('a secret')).toBe(keyOf('a secret'));
  expect(keyOf('a secret')).not.toBe(keyOf('another secret'));
});

it('while SECRET_KEY has two values, edges that know either of them believe', async () => {
  const box = new SecretBox(['old']);
  const signer = new EdgeSigner(box);
  const old = signer.publicKey;
  await box.use(['new', 'old']);
  const [first = '', second = ''] = signer.sign(NONCE, 200, BODY).split(',');
  expect(signer.publicKey).not.toBe(old);
  expect(isSignedBy(signer.publicKey, BODY, first)).toBe(true);
  expect(isSignedBy(old, BODY, second)).toBe(true);
});
