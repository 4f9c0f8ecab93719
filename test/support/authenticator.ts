// Authenticator in software: makes passkeys and shows them as a browser with a security key would (WebAuthn,
// ES256, no attestation). A test may have it lie, as a stolen or copied one would.

import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

type Asked = { readonly challenge: string; readonly [field: string]: unknown };

/** What an answer tells otherwise than an honest authenticator would. */
type Lies = {
  readonly origin?: string;
  readonly rpId?: string;
  readonly challenge?: string;
  readonly counter?: number;
  /** Whether the authenticator has not verified its person. */
  readonly isUnverified?: boolean;
  readonly userHandle?: string;
  readonly type?: string;
};

const PRESENT = 0x01;
const VERIFIED = 0x04;
const WITH_CREDENTIAL = 0x40;

export class Authenticator {
  readonly credentialId: string;
  private readonly origin: string;
  private readonly key: { publicKey: KeyObject; privateKey: KeyObject };
  private userHandle = '';
  /** Number of signatures; null for an authenticator that does not count. */
  counter: number | null;

  constructor(origin: string, options: { counter?: number | null; credentialId?: string } = {}) {
    this.origin = origin;
    this.counter = options.counter === undefined ? 0 : options.counter;
    this.credentialId = options.credentialId ?? randomBytes(32).toString('base64url');
    this.key = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  }

  /** Answers a question for a new passkey. */
  make(options: Asked, lies: Lies = {}) {
    const user = options.user as { id: string };
    this.userHandle = user.id;
    const id = Buffer.from(this.credentialId, 'base64url');
    const credential = Buffer.concat([Buffer.alloc(16), uint16(id.length), id, this.publicKey()]);
    const data = Buffer.concat([this.head(WITH_CREDENTIAL, lies), credential]);
    const attestation = Buffer.concat([
      Buffer.from([0xa3]),
      ...[text('fmt'), text('none'), text('attStmt'), Buffer.from([0xa0])],
      ...[text('authData'), bytes(data)],
    ]);
    return this.answer({
      clientDataJSON: this.clientData('webauthn.create', options, lies),
      attestationObject: attestation.toString('base64url'),
      transports: ['internal'],
    });
  }

  /** Answers a question for this passkey. */
  show(options: Asked, lies: Lies = {}) {
    if (this.counter !== null) this.counter += 1;
    const clientDataJSON = this.clientData('webauthn.get', options, lies);
    const data = this.head(0, lies);
    const signed = Buffer.concat([data, sha256(Buffer.from(clientDataJSON, 'base64url'))]);
    return this.answer({
      clientDataJSON,
      authenticatorData: data.toString('base64url'),
      signature: sign('sha256', signed, this.key.privateKey).toString('base64url'),
      userHandle: lies.userHandle ?? this.userHandle,
    });
  }

  private answer<Response>(response: Response) {
    const { credentialId: id } = this;
    return { id, rawId: id, type: 'public-key', response, clientExtensionResults: {} };
  }

  private clientData(type: string, { challenge }: Asked, lies: Lies): string {
    const data = {
      type: lies.type ?? type,
      challenge: lies.challenge ?? challenge,
      origin: lies.origin ?? this.origin,
      crossOrigin: false,
    };
    return Buffer.from(JSON.stringify(data)).toString('base64url');
  }

  private head(flags: number, { rpId, counter, isUnverified = false }: Lies): Buffer {
    const party = rpId ?? new URL(this.origin).hostname;
    const told = Buffer.alloc(4);
    told.writeUInt32BE(counter ?? this.counter ?? 0);
    const all = flags | PRESENT | (isUnverified ? 0 : VERIFIED);
    return Buffer.concat([sha256(Buffer.from(party)), Buffer.from([all]), told]);
  }

  /** The public key as COSE has it: { 1: EC2, 3: ES256, -1: P-256, -2: x, -3: y }. */
  private publicKey(): Buffer {
    const { x = '', y = '' } = this.key.publicKey.export({ format: 'jwk' });
    return Buffer.concat([
      Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21]),
      bytes(Buffer.from(x, 'base64url')),
      Buffer.from([0x22]),
      bytes(Buffer.from(y, 'base64url')),
    ]);
  }
}

function sha256(data: Buffer): Buffer {
  return createHash('sha256').update(data).digest();
}

function uint16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 255]);
}

// The few kinds of CBOR that an attestation has.

function text(value: string): Buffer {
  return Buffer.concat([Buffer.from([0x60 | value.length]), Buffer.from(value)]);
}

function bytes(value: Buffer): Buffer {
  const { length } = value;
  const head = length < 256 ? Buffer.from([0x58, length]) : Buffer.from([0x59, ...uint16(length)]);
  return Buffer.concat([head, value]);
}
