// Signing of what edges follow, so that an edge serves nothing that did not come from the service which made
// its token, whoever stands between them. Ed25519, with keys derived from SECRET_KEY: all nodes sign alike,
// and no key has to be kept. While an operator changes SECRET_KEY there are several, and all sign: edges know
// the one that was first when their token was made.

import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { signedHead } from '../../contract/edge-signature.ts';

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
