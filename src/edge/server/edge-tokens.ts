// Administration of the tokens of edges, which is the operator's: edges are a part of how the service is run.

import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import {
  createBearerSecret,
  equalSecrets,
  hashSecret,
  prefixOfSecret,
} from '../../access/api-keys.ts';
import { signedHead } from '../../contract/edge-signature.ts';
import type {
  IssuedEdgeToken,
  ListedEdgeToken,
  RevokedEdgeToken,
} from '../../contract/edge-token.ts';
import { fail, isFailure, type LostRight, type Outcome } from '../../contract/failure.ts';
import { Unavailable } from '../../contract/unavailable.ts';
import { ConcurrencyLimit } from '../../flow/concurrency-limit.ts';
import type { EdgeLedger, EdgeScope, StoredEdgeToken } from '../../store/console-ledger.ts';
import type { Actor } from '../../store/ledger-terms.ts';

type TokenLedger = Pick<EdgeLedger, 'createEdgeToken' | 'listEdgeTokens' | 'revokeEdgeToken'>;

export class EdgeTokens {
  private readonly ledger: TokenLedger;
  private readonly signer: EdgeSigner | undefined;

  /** Without a signer, because there is no SECRET_KEY, no token can be created. */
  constructor(ledger: TokenLedger, signer: EdgeSigner | undefined) {
    this.ledger = ledger;
    this.signer = signer;
  }

  /** Creates a token. Its secret, with the key of the service's signatures, is in this answer only. */
  async create(
    name: string,
    organizationId: EdgeScope,
    actor: Actor,
  ): Promise<Outcome<IssuedEdgeToken, 'edgesNeedSecretKey' | LostRight>> {
    if (this.signer === undefined) return fail('edgesNeedSecretKey');
    const { secret, prefix, hash } = createBearerSecret('sluice-edge');
    const token = await this.ledger.createEdgeToken(
      { organizationId, name, prefix, secretHash: hash },
      actor,
    );
    if (isFailure(token)) return token;
    return { ...token, secret: `${secret}.${this.signer.publicKey}` };
  }

  /** Lists the newest tokens, revoked ones included. */
  list(): Promise<readonly ListedEdgeToken[]> {
    return this.ledger.listEdgeTokens();
  }

  /** Revokes a token: its edges are refused within five seconds. */
  revoke(
    id: string,
    actor: Actor,
  ): Promise<Outcome<RevokedEdgeToken, 'unknownEdgeToken' | LostRight>> {
    return this.ledger.revokeEdgeToken(id, actor);
  }
}

// Authentication of edges by their tokens. An edge asks once or twice a second, so that what the ledger says
// of a token counts for a few seconds. While the ledger is away, it counts for longer: what edges follow is
// served from memory then, and they should not lose it because a token cannot be looked up.

/** Edge that has shown a valid token. */
export type Edge = {
  /** Id of its token, which several edges may share. */
  readonly tokenId: string;
  /** Organization whose apps it may know; null for all. */
  readonly scope: EdgeScope;
};

/** Milliseconds for which a token counts as it was read: the longest time that a revoked one is accepted. */
const FRESH_MS = 4000;
/** Milliseconds for which it counts while the ledger does not answer. */
const KEPT_MS = 3_600_000;
const TOKENS_MAX = 10_000;
/** Maximum number of look-ups at a time, and of those that wait: invented tokens take no more connections. */
const LOOKUPS_RUNNING_MAX = 2;
const LOOKUPS_WAITING_MAX = 1000;

type Known = { readonly token: StoredEdgeToken; readonly readAt: number };

export class AuthenticateEdge {
  private readonly ledger: Pick<EdgeLedger, 'findEdgeToken'>;
  private readonly now: () => number;
  private readonly known = new LRUCache<string, Known>({ max: TOKENS_MAX });
  private readonly gate = new ConcurrencyLimit(LOOKUPS_RUNNING_MAX, LOOKUPS_WAITING_MAX);

  /** `now` returns milliseconds that never go back. */
  constructor(
    ledger: Pick<EdgeLedger, 'findEdgeToken'>,
    now: () => number = () => performance.now(),
  ) {
    this.ledger = ledger;
    this.now = now;
  }

  /**
   * Returns the edge that a secret belongs to; a missing, an invalid and a revoked one look the same. Rejects
   * with `Unavailable` when the ledger does not answer and the token was not seen for an hour.
   */
  async authenticate(secret: string | undefined): Promise<Outcome<Edge, 'edgeUnauthorized'>> {
    const prefix = secret === undefined ? undefined : prefixOfSecret('sluice-edge', secret);
    if (secret === undefined || prefix === undefined) return fail('edgeUnauthorized');
    const token = await this.find(prefix);
    const isRight = equalSecrets(hashSecret(secret), token?.secretHash ?? '');
    if (token === undefined || !isRight || token.isRevoked) return fail('edgeUnauthorized');
    return { tokenId: token.id, scope: token.organizationId };
  }

  private async find(prefix: string): Promise<StoredEdgeToken | undefined> {
    const known = this.known.get(prefix);
    if (known !== undefined && this.now() - known.readAt < FRESH_MS) return known.token;
    const readAt = this.now();
    try {
      const token = await this.gate.pass(() => this.ledger.findEdgeToken(prefix));
      if (token === undefined) this.known.delete(prefix);
      else this.known.set(prefix, { token, readAt });
      return token;
    } catch (error) {
      const isKept = known !== undefined && readAt - known.readAt < KEPT_MS;
      if (error instanceof Unavailable && isKept) return known.token;
      throw error;
    }
  }
}

// Signing of what edges follow, so that an edge serves nothing that did not come from the service which made
// its token, whoever stands between them. Ed25519, with keys derived from SECRET_KEY: all nodes sign alike,
// and no key has to be kept. While an operator changes SECRET_KEY there are several, and all sign: edges know
// the one that was first when their token was made.

/** Maximum number of signatures that are tried: as many as SECRET_KEY may have values. */
const SIGNATURES_MAX = 8;
/** What the keys are derived for. */
const PURPOSE = 'sluice edge signature v1';
/** Beginning of an Ed25519 private key in PKCS #8 (RFC 8410), before its 32 bytes. */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');
/** Length of the head of a public key in SPKI (RFC 8410), before its 32 bytes. */
const SPKI_HEAD_BYTES = 12;

/** Source of keys: the box of secrets, which returns the same array until they are others. */
type KeySource = { deriveKeys(purpose: string): readonly Buffer[] };

type SigningKey = {
  readonly privateKey: KeyObject;
  readonly key: KeyObject;
  /** Public key, 32 bytes in base64url. */
  readonly publicKey: string;
};

export class EdgeSigner {
  private readonly source: KeySource;
  /** What the keys are made of; another array when the setting has changed. */
  private seeds: readonly Buffer[] | undefined;
  private keys: readonly SigningKey[] = [];

  constructor(source: KeySource) {
    this.source = source;
  }

  /** Public key of the first SECRET_KEY, 32 bytes in base64url. */
  get publicKey(): string {
    const [first] = this.present();
    if (first === undefined) throw new Error('There is no key to sign with');
    return first.publicKey;
  }

  /**
   * Returns the signatures of an answer to the call with this nonce, as the header has them: one for each
   * key, the first one first.
   */
  sign(nonce: string, status: number, body: Buffer): string {
    const signed = Buffer.concat([Buffer.from(signedHead(nonce, status)), body]);
    return this.present()
      .map(({ privateKey }) => sign(null, signed, privateKey).toString('base64url'))
      .join(',');
  }

  /** Returns whether an answer has a signature of one of the keys, as the header had them. */
  isSigned(nonce: string, status: number, body: Buffer, signatures: string): boolean {
    const signed = Buffer.concat([Buffer.from(signedHead(nonce, status)), body]);
    return signatures
      .split(',')
      .slice(0, SIGNATURES_MAX)
      .map((each) => Buffer.from(each, 'base64url'))
      .some((each) => this.present().some(({ key }) => verify(null, signed, key, each)));
  }

  private present(): readonly SigningKey[] {
    const seeds = this.source.deriveKeys(PURPOSE);
    if (seeds !== this.seeds) this.keys = seeds.map(keyOf);
    this.seeds = seeds;
    return this.keys;
  }
}

function keyOf(seed: Buffer): SigningKey {
  const key = Buffer.concat([PKCS8_HEAD, seed]);
  const privateKey = createPrivateKey({ key, format: 'der', type: 'pkcs8' });
  const publicKey = createPublicKey(privateKey);
  const spki = publicKey.export({ format: 'der', type: 'spki' });
  return {
    privateKey,
    key: publicKey,
    publicKey: spki.subarray(SPKI_HEAD_BYTES).toString('base64url'),
  };
}
