// Challenges of passkeys: random texts that an authenticator signs. The service stores no open challenge: a
// signed cookie has it, so strangers cannot fill a table by asking, every node can check it, and it belongs
// to one browser. Answered ones are stored until they expire, so that none is answered twice.

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { LIMIT } from '../contract/limit.ts';
import { isoTime } from '../contract/text.ts';
import type { Ledger } from '../store/ledger.ts';

/** What the answer to a challenge is for. */
export type ChallengePurpose =
  /** Adds a passkey to this account. */
  | { readonly for: 'add'; readonly accountId: string }
  /** Signs in by itself, with a passkey of any account. */
  | { readonly for: 'alone' }
  /** Signs in to this account after its password; `proof` is the hash of the password's stored hash. */
  | { readonly for: 'second'; readonly accountId: string; readonly proof: string };

export type Challenge = {
  readonly text: string;
  /** RFC 3339. */
  readonly expiresAt: string;
};

const KEY_NAME = 'passkey-challenge';
const KEY_BYTES = 32;
const CHALLENGE_BYTES = 32;
const COOKIE_LENGTH_MAX = 1024;

type Signed = Challenge & { readonly purpose: ChallengePurpose };

type ChallengesDependencies = {
  readonly ledger: Pick<Ledger, 'readSigningKey'>;
  readonly now: () => number;
};

export class Challenges {
  private key: Promise<string> | undefined;

  constructor(private readonly dependencies: ChallengesDependencies) {}

  /** Makes a challenge, and the cookie that its answer must come with. */
  async issue(purpose: ChallengePurpose): Promise<{ challenge: Challenge; cookie: string }> {
    const text = randomBytes(CHALLENGE_BYTES).toString('base64url');
    const expiresAt = isoTime(this.dependencies.now() + LIMIT.challengeLifetimeMs);
    const body = Buffer.from(JSON.stringify({ text, expiresAt, purpose })).toString('base64url');
    const signature = sign(await this.readKey(), body).toString('base64url');
    return { challenge: { text, expiresAt }, cookie: `${body}.${signature}` };
  }

  /** Returns the challenge of a cookie; undefined if the cookie has expired or was not made by `issue`. */
  async read(cookie: string | undefined): Promise<Signed | undefined> {
    if (cookie === undefined || cookie.length > COOKIE_LENGTH_MAX) return undefined;
    const [body = '', signature = '', ...rest] = cookie.split('.');
    const expected = sign(await this.readKey(), body);
    const given = Buffer.from(signature, 'base64url');
    const isRight = given.length === expected.length && timingSafeEqual(given, expected);
    if (!isRight || rest.length > 0) return undefined;
    // The signature is right, so `issue` wrote this text.
    const challenge = JSON.parse(Buffer.from(body, 'base64url').toString()) as Signed;
    return Date.parse(challenge.expiresAt) > this.dependencies.now() ? challenge : undefined;
  }

  /** Reads the key once; the next call repeats a failed read. */
  private readKey(): Promise<string> {
    const draft = randomBytes(KEY_BYTES).toString('base64url');
    this.key ??= this.dependencies.ledger
      .readSigningKey(KEY_NAME, draft)
      .catch((error: unknown) => {
        this.key = undefined;
        throw error;
      });
    return this.key;
  }
}

function sign(key: string, body: string): Buffer {
  return createHmac('sha256', key).update(body).digest();
}
