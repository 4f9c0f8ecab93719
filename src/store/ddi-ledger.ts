// Terms of the ledger's calls about the credentials of devices that speak DDI.

import type { Outcome } from '../contract/failure.ts';
import type { DeviceToken } from '../contract/resource.ts';

/** New gateway token. `tokenHash` is the lower-case hex SHA-256 of the token. */
export type NewGatewayToken = { readonly name: string; readonly tokenHash: string };

/** Secret that an app's device tokens are made with, sealed. */
export type StoredDdiSecret = { readonly id: string; readonly sealed: string };

/** Valid credentials of an app: its gateway tokens by their hashes, and its secrets. */
export type StoredDdiCredentials = {
  readonly appId: string;
  readonly tokens: readonly { readonly id: string; readonly tokenHash: string }[];
  readonly secrets: readonly StoredDdiSecret[];
};

/** Makes a new secret and returns it sealed for the row of this id. */
export type SealDdiSecret = (secretId: string) => string;

/** Tokens that a call asks for. */
export type AskedDeviceTokens = {
  /** Ref or id of the app. */
  readonly app: string;
  /** Number of devices, for the audit. */
  readonly devices: number;
  readonly seal: SealDdiSecret;
  /** Makes the tokens with the newest secret of the app of this id. A refusal stores nothing. */
  readonly make: (appId: string, secret: StoredDdiSecret) => Outcome<readonly DeviceToken[]>;
};

/** Use of a gateway token. */
export type GatewayTokenUse = { readonly id: string; readonly at: string };

/** Sealed secret, and the same one sealed again; it replaces the stored one if that still equals `from`. */
export type ResealedDdiSecret = { readonly id: string; readonly from: string; readonly to: string };
