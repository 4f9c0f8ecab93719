// Authenticates management calls by API key, limits their rate, and records when and from where a key is
// used. Every call reads the ledger: management calls are few, and a cache would keep a revoked key valid.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { fail, type Outcome } from '../contract/failure.ts';
import { LIMIT } from '../contract/limit.ts';
import { KEY_RIGHTS, type KeyRight } from '../contract/resource.ts';
import { Unavailable } from '../contract/store-fault.ts';
import { isoTime } from '../contract/text.ts';
import { ConcurrencyLimit } from '../flow/concurrency-limit.ts';
import { periodic } from '../flow/periodic.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { RareLog } from '../observe/rare-log.ts';
import type { CountedRequest, Engine } from '../store/engine.ts';
import type { Ledger } from '../store/ledger.ts';
import type { Actor, KeyActor, TenantScope } from '../store/ledger-terms.ts';

export type Caller = Principal & {
  readonly keyId: string;
  /** Rights of the key. */
  readonly may: readonly KeyRight[];
  readonly actor: KeyActor;
};

/** Maximum number of concurrent key look-ups, so that forged keys cannot take all database connections. */
const LOOKUPS_RUNNING_MAX = 3;
const LOOKUPS_WAITING_MAX = 1000;

/** Authenticated caller of an operation. */
export type Principal = {
  /** Apps that the caller may name. */
  readonly scope: TenantScope;
  readonly actor: Actor;
};

export class AuthenticateKey {
  private readonly gate = new ConcurrencyLimit(LOOKUPS_RUNNING_MAX, LOOKUPS_WAITING_MAX);

  /** `noteUse` is called for every accepted key, with the client's IP address. */
  constructor(
    private readonly ledger: Pick<Ledger, 'findKey'>,
    private readonly noteUse: (keyId: string, address: string) => void,
  ) {}

  /**
   * Returns the caller of a secret. A missing, invalid, revoked or expired secret gets the same refusal.
   * `address` is the client's IP address; `requestId` goes into the audit log.
   */
  async authenticate(
    secret: string | undefined,
    address: string,
    requestId?: string,
  ): Promise<Outcome<Caller>> {
    const prefix = secret === undefined ? undefined : prefixOfSecret('sluice', secret);
    if (secret === undefined || prefix === undefined) return fail('unauthorized');
    const key = await this.gate.pass(() => this.ledger.findKey(prefix));
    const isRight = equalSecrets(hashSecret(secret), key?.secretHash ?? '');
    if (key === undefined || !isRight || key.revokedAt !== null || key.isOver)
      return fail('unauthorized');
    this.noteUse(key.id, address);
    const { id, name, organizationId, appIds } = key;
    return {
      keyId: id,
      scope: appIds === null ? organizationId : { organizationId, appIds },
      may: key.may ?? KEY_RIGHTS,
      actor: { kind: 'key', id, name, organizationId, requestId },
    };
  }
}

// Last uses of API keys: noted during authentication and written a little later, off the request's path: from
// the same IP address at most once a minute, from another within a second, and the last use always.

const INTERVAL_MS = 1000;
const QUIET_MS = 60_000;
const KEYS_MAX = 10_000;

/** Use of a key at a time in milliseconds since 1970. */
type Use = { readonly at: number; readonly from: string };

export class KeyUses {
  /** Latest use of each key that was written or is in `pending`. */
  private readonly noted = new LRUCache<string, Use>({ max: KEYS_MAX });
  /** Uses to write next. */
  private pending = new Map<string, Use>();
  /** Later uses from the same address, to write when the minute is over. */
  private readonly later = new Map<string, Use>();
  private readonly writes = periodic(() => this.write(Date.now() - QUIET_MS), {
    everyMs: INTERVAL_MS,
  });

  readonly start = this.writes.start;

  constructor(
    private readonly ledger: Pick<Ledger, 'recordKeyUses'>,
    private readonly log: RareLog,
  ) {}

  /** Records that a key was used just now from this IP address. */
  note(keyId: string, from: string): void {
    const use = { at: Date.now(), from };
    const noted = this.noted.get(keyId);
    const isNew = this.pending.has(keyId) || noted?.from !== from || use.at - noted.at >= QUIET_MS;
    const queue = isNew ? this.pending : this.later;
    if (queue.size >= KEYS_MAX && !queue.has(keyId)) return;
    queue.set(keyId, use);
    if (isNew) this.take(keyId, use);
  }

  /** Writes the uses that are not written yet. */
  async stop(): Promise<void> {
    await this.writes.stop();
    await this.write(Number.POSITIVE_INFINITY);
  }

  /** Writes the pending uses, and those of `later` whose key was last noted at `quietSince` or earlier. */
  private async write(quietSince: number): Promise<void> {
    for (const [keyId, use] of this.later) {
      if ((this.noted.get(keyId)?.at ?? 0) > quietSince) continue;
      this.pending.set(keyId, use);
      this.take(keyId, use);
    }
    if (this.pending.size === 0) return;
    const uses = this.pending;
    this.pending = new Map();
    try {
      await this.ledger.recordKeyUses(
        [...uses].map(([id, { at, from }]) => ({ id, at: isoTime(at), from })),
      );
    } catch (error) {
      this.pending = new Map([...uses, ...this.pending]);
      this.log.warnAbout('keys', { err: error }, 'last uses of keys could not be recorded');
    }
  }

  private take(keyId: string, use: Use): void {
    this.noted.set(keyId, use);
    this.later.delete(keyId);
  }
}

// The management rate limit: 300 requests a minute per key, counted in the engine over all nodes. If the
// engine does not answer, this node counts alone: a lost engine must neither lock publishers out nor lift the
// limit that protects the service.

type Counter = Pick<Engine, 'countRequest'>;

/** Counts a request of a key; returns whether it is within the limit. `alone` counts for this node only. */
export async function limitManagement(
  engine: Counter,
  alone: Counter,
  metrics: Metrics,
  keyId: string,
): Promise<CountedRequest> {
  const count = (counter: Counter): Promise<CountedRequest> =>
    counter.countRequest(`key:${keyId}`, LIMIT.managementRequestsPerMinute, LIMIT.rateWindowMs);
  return count(engine).catch((error: unknown) => {
    if (!(error instanceof Unavailable)) throw error;
    metrics.faults.add('rate');
    return count(alone);
  });
}

// Secrets of programs: `<word>_<12 hex>_<43 base64url>`. They have 256 random bits and cannot be guessed, so
// a plain SHA-256 is safe to store, and a slow hash would add nothing.

type BearerSecret = {
  /** Complete secret, shown once. */
  readonly secret: string;
  /** Public part of the secret: identifies it in the ledger, and makes a leaked secret recognisable. */
  readonly prefix: string;
  /** Lower-case hex SHA-256 of the whole secret. */
  readonly hash: string;
};

/** First part of a secret, which shows its purpose. */
type SecretWord = 'sluice' | 'sluice-edge';

const REST = /^_[0-9a-f]{12}_[A-Za-z0-9_-]{43}$/;
/** Length of the prefix after the word. */
const PREFIX_REST_LENGTH = 13;

/** Creates a secret. */
export function createBearerSecret(word: SecretWord): BearerSecret {
  const prefix = `${word}_${randomBytes(6).toString('hex')}`;
  const secret = `${prefix}_${randomBytes(32).toString('base64url')}`;
  return { secret, prefix, hash: hashSecret(secret) };
}

/** Returns the public part of a presented secret; undefined if the text is not of a secret's form. */
export function prefixOfSecret(word: SecretWord, secret: string): string | undefined {
  const isOne = secret.startsWith(word) && REST.test(secret.slice(word.length));
  return isOne ? secret.slice(0, word.length + PREFIX_REST_LENGTH) : undefined;
}

/** Returns the lower-case hex SHA-256 of a secret. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** Compares two secrets or hashes in constant time. */
export function equalSecrets(left: string, right: string): boolean {
  const a = createHash('sha256').update(left).digest();
  const b = createHash('sha256').update(right).digest();
  return timingSafeEqual(a, b);
}
