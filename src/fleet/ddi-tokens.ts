// Makes the credentials of devices that speak DDI (docs/contract.md 34.42): gateway tokens for all devices of
// an app, and device tokens, each of which follows from a secret of the app and the device's id, so that the
// service stores none of them.

import { createHmac, type KeyObject, randomBytes } from 'node:crypto';
import { hashSecret, type Principal } from '../access/api-keys.ts';
import type { ResealedSecrets } from '../contract/console.ts';
import { type Failure, fail, isFailure, type Outcome } from '../contract/failure.ts';
import type { DdiSecret, DeviceToken, IssuedGatewayToken } from '../contract/resource.ts';
import type { SealDdiSecret, StoredDdiSecret } from '../store/ddi-ledger.ts';
import type { Ledger } from '../store/ledger.ts';
import type { Actor } from '../store/ledger-terms.ts';

/** Encryption of secrets at rest; `owner` is what a secret belongs to. */
type Box = {
  seal(secret: string, owner: string): string;
  open(
    sealed: string,
    owner: string,
  ): { readonly secret: string; readonly isUnderFirst: boolean } | undefined;
};

/** Bytes of a token: 32 characters of base64url, the most that the smallest clients take. */
const TOKEN_BYTES = 24;
const SECRET_BYTES = 32;

type TokenLedger = Pick<Ledger, 'addDdiSecret' | 'createGatewayToken' | 'makeDeviceTokens'>;

export class DdiTokens {
  /** If `box` is undefined, as without a SECRET_KEY, no device token can be made. */
  constructor(
    private readonly ledger: TokenLedger,
    private readonly box: Box | undefined,
  ) {}

  /** Creates a gateway token of an app. Only the returned value has its text. */
  async createGatewayToken(
    appId: string,
    name: string,
    actor: Actor,
  ): Promise<Outcome<IssuedGatewayToken>> {
    const token = randomBytes(TOKEN_BYTES).toString('base64url');
    const made = { name, tokenHash: hashSecret(token) };
    const stored = await this.ledger.createGatewayToken(appId, made, actor);
    return isFailure(stored) ? stored : { ...stored, token };
  }

  /** Adds a secret to an app; from then on device tokens are made with it. */
  async addSecret(appId: string, actor: Actor): Promise<Outcome<DdiSecret>> {
    const { box } = this;
    return box === undefined ? noKey() : this.ledger.addDdiSecret(appId, sealerOf(box), actor);
  }

  /** Makes the tokens of these devices, in order; an app without a secret gets one. */
  async makeDeviceTokens(
    { scope, actor }: Pick<Principal, 'scope' | 'actor'>,
    app: string,
    deviceIds: readonly string[],
  ): Promise<Outcome<readonly DeviceToken[]>> {
    const { box } = this;
    if (box === undefined) return noKey();
    const make = (appId: string, stored: StoredDdiSecret): Outcome<readonly DeviceToken[]> => {
      const secret = openDdiSecret(box, stored);
      if (secret === undefined) return fail('ddiSecretUnreadable');
      return deviceIds.map((deviceId) => ({
        deviceId,
        token: deviceTokenBytes(secret, appId, deviceId).toString('base64url'),
      }));
    };
    const asked = { app, devices: deviceIds.length, seal: sealerOf(box), make };
    return this.ledger.makeDeviceTokens(scope, asked, actor);
  }
}

function noKey(): Failure<'secretKeyMissing'> {
  return fail('secretKeyMissing', 'Device tokens cannot be made: SECRET_KEY is not set');
}

function sealerOf(box: Box): SealDdiSecret {
  return (id) => box.seal(randomBytes(SECRET_BYTES).toString('base64url'), ownerOf(id));
}

/** Returns the owner that a secret is encrypted for. */
function ownerOf(id: string): string {
  return `ddi-secret:${id}`;
}

/** Decrypts a secret; undefined if no SECRET_KEY fits. */
export function openDdiSecret(
  box: Pick<Box, 'open'>,
  { id, sealed }: StoredDdiSecret,
): string | undefined {
  return box.open(sealed, ownerOf(id))?.secret;
}

/**
 * Returns the token of a device as bytes: the first 24 of an HMAC-SHA-256 of app and device id. Neither has a
 * NUL, so no two pairs have the same text.
 */
export function deviceTokenBytes(
  secret: string | KeyObject,
  appId: string,
  deviceId: string,
): Buffer {
  const digest = createHmac('sha256', secret).update(`${appId}\0${deviceId}`).digest();
  return digest.subarray(0, TOKEN_BYTES);
}

type SecretsLedger = Pick<Ledger, 'listDdiSecrets' | 'replaceDdiSecrets'>;

/** Encrypts again at most `countMax` secrets after the id `after`, under the first SECRET_KEY. */
export async function resealDdiSecrets(
  ledger: SecretsLedger,
  box: Box,
  after: string,
  countMax: number,
): Promise<ResealedSecrets> {
  const batch = await ledger.listDdiSecrets(after, countMax);
  const opened = batch.map(({ id, sealed }) => ({
    ...{ id, from: sealed, found: box.open(sealed, ownerOf(id)) },
  }));
  const changes = opened.flatMap(({ id, from, found }) =>
    found === undefined || found.isUnderFirst
      ? []
      : [{ id, from, to: box.seal(found.secret, ownerOf(id)) }],
  );
  const resealed = changes.length === 0 ? 0 : await ledger.replaceDdiSecrets(changes);
  const unreadable = opened.filter(({ found }) => found === undefined).length;
  const last = batch.length < countMax ? undefined : batch.at(-1);
  return { resealed, unreadable, next: last === undefined ? null : last.id };
}
