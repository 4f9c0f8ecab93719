// Creates the tokens of edges for the operator, who runs the edges.

import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import {
  createBearerSecret,
  equalSecrets,
  hashSecret,
  prefixOfSecret,
} from '../../access/api-keys.ts';
import { type IssuedEdgeToken, SIGNATURES_MAX, signedHead } from '../../contract/edge.ts';
import { fail, isFailure, type Outcome } from '../../contract/failure.ts';
import { Unavailable, whenAway } from '../../contract/store-fault.ts';
import { ConcurrencyLimit } from '../../flow/concurrency-limit.ts';
import type { EdgeScope, StoredEdgeToken } from '../../store/console-ledger.ts';
import type { Ledger } from '../../store/ledger.ts';
import type { Actor } from '../../store/ledger-terms.ts';

type TokenLedger = Pick<Ledger, 'createEdgeToken'>;

export class EdgeTokens {
  /** If `signer` is undefined, as without a SECRET_KEY, no token can be created. */
  constructor(
    private readonly ledger: TokenLedger,
    private readonly signer: EdgeSigner | undefined,
  ) {}

  /** Creates a token. Only the returned value has its secret, with the public key of the service. */
  async create(
    name: string,
    organizationId: EdgeScope,
    actor: Actor,
  ): Promise<Outcome<IssuedEdgeToken>> {
    if (this.signer === undefined) return fail('edgesNeedSecretKey');
    const { secret, prefix, hash } = createBearerSecret('sluice-edge');
    const token = await this.ledger.createEdgeToken(
      { organizationId, name, prefix, secretHash: hash },
      actor,
    );
    if (isFailure(token)) return token;
    return { ...token, secret: `${secret}.${this.signer.publicKey}` };
  }
}

// Authenticates edges by their tokens. An edge calls once or twice a second, so what was read of a token is
// valid for 4 seconds. While the ledger is unavailable, it is valid for an hour: the index is then served
// from memory, and edges should not lose it because a token cannot be looked up.

/** Edge with a valid token. */
export type Edge = {
  /** Id of its token, which several edges may share. */
  readonly tokenId: string;
  /** Organization whose apps the edge may serve; null for all. */
  readonly scope: EdgeScope;
};

/** Milliseconds for which a read of a token is valid: so long can a revoked one still be accepted. */
const FRESH_MS = 4000;
/** Milliseconds for which a read of a token is valid while the ledger does not answer. */
const KEPT_MS = 3_600_000;
const TOKENS_MAX = 10_000;
/** Maximum number of concurrent look-ups, because every forged token costs one. */
const LOOKUPS_RUNNING_MAX = 2;
const LOOKUPS_WAITING_MAX = 1000;

type Known = { readonly token: StoredEdgeToken; readonly readAt: number };
type TokensOfEdges = Pick<Ledger, 'findEdgeToken' | 'tellRefusedEdge'>;

export class AuthenticateEdge {
  private readonly known = new LRUCache<string, Known>({ max: TOKENS_MAX });
  /** Ids of revoked tokens whose use this process has already reported. */
  private readonly told = new LRUCache<string, true>({ max: TOKENS_MAX });
  private readonly gate = new ConcurrencyLimit(LOOKUPS_RUNNING_MAX, LOOKUPS_WAITING_MAX);

  /** `now` returns milliseconds that never go back. */
  constructor(
    private readonly ledger: TokensOfEdges,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /**
   * Returns the edge of a secret; a missing, invalid or revoked one gets the same refusal. Rejects with
   * `Unavailable` if the ledger does not answer and the token was not read within an hour.
   */
  async authenticate(secret: string | undefined): Promise<Outcome<Edge>> {
    const prefix = secret === undefined ? undefined : prefixOfSecret('sluice-edge', secret);
    if (secret === undefined || prefix === undefined) return fail('edgeUnauthorized');
    const token = await this.find(prefix);
    const isRight = equalSecrets(hashSecret(secret), token?.secretHash ?? '');
    if (token === undefined || !isRight) return fail('edgeUnauthorized');
    if (token.isRevoked) {
      await this.tellOnce(token.id);
      return fail('edgeUnauthorized');
    }
    return { tokenId: token.id, scope: token.organizationId };
  }

  /** Reports once that an edge uses a revoked token; if the ledger is away, a later call tries again. */
  private async tellOnce(id: string): Promise<void> {
    if (this.told.has(id)) return;
    const tell = this.gate.pass(() => this.ledger.tellRefusedEdge(id));
    const remember = () => void this.told.set(id, true);
    await tell.then(
      remember,
      whenAway(() => undefined),
    );
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

// Signs answers to edges, so that an edge serves only what comes from the service that made its token,
// whatever is between them. Ed25519 with keys derived from SECRET_KEY: all nodes sign alike, and no key has
// to be stored. During a change of SECRET_KEY there are several keys, and all sign: an edge knows the one
// that was first when its token was made.

/** Purpose of the derived keys. */
const PURPOSE = 'sluice edge signature v1';
/** Head of an Ed25519 private key in PKCS #8 (RFC 8410), before its 32 bytes. */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');
/** Length of the head of a public key in SPKI (RFC 8410), before its 32 bytes. */
const SPKI_HEAD_BYTES = 12;

/** Source of keys, which returns the same array until the keys change. */
type KeySource = { deriveKeys(purpose: string): readonly Buffer[] };

type SigningKey = {
  readonly privateKey: KeyObject;
  readonly key: KeyObject;
  /** 32 bytes in base64url. */
  readonly publicKey: string;
};

export class EdgeSigner {
  /** Seeds that `keys` were made from; another array after a change of SECRET_KEY. */
  private seeds: readonly Buffer[] | undefined;
  private keys: readonly SigningKey[] = [];

  constructor(private readonly source: KeySource) {}

  /** Public key of the first SECRET_KEY, 32 bytes in base64url. */
  get publicKey(): string {
    const [first] = this.present();
    if (first === undefined) throw new Error('There is no key to sign with');
    return first.publicKey;
  }

  /**
   * Returns the signatures of an answer to the call with this nonce, in the form of the header: one for each
   * key, in order.
   */
  sign(nonce: string, status: number, body: Buffer): string {
    const signed = Buffer.concat([Buffer.from(signedHead(nonce, status)), body]);
    return this.present()
      .map(({ privateKey }) => sign(null, signed, privateKey).toString('base64url'))
      .join(',');
  }

  /** Returns whether one of the keys signed an answer; `signatures` has the form of the header. */
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
