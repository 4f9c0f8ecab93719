// Terms of the ledger's calls for destinations of notifications: their settings and secrets, and the outcome
// of the messages to them. Events are written by the changes that they report.

import type { DestinationKind, EventFilter } from '../contract/notification.ts';
import type { NewMail } from './delivery-ledger.ts';

export type NewDestination = {
  readonly organizationId: string;
  readonly name: string;
  readonly kind: DestinationKind;
  /** Null for mail. */
  readonly url: string | null;
  /** Recipient of mail; null otherwise. */
  readonly to: string | null;
  /** Null for all. */
  readonly events: readonly EventFilter[] | null;
  /** Refs or ids; null for all. */
  readonly apps: readonly string[] | null;
  readonly enabled: boolean;
  /** Link for a recipient who is no member; undefined where none can be sent. */
  readonly link?: RecipientLink | undefined;
};

/** Link by which an address confirms that it wants mails. */
export type RecipientLink = {
  /** Hash of its token. */
  readonly hash: string;
  readonly to: string;
  /** RFC 3339. */
  readonly expiresAt: string;
  readonly mail: NewMail;
};

/** Change of a destination; an undefined field stays as it is. */
export type DestinationChange = {
  readonly name?: string | undefined;
  readonly url?: string | undefined;
  readonly to?: string | undefined;
  readonly events?: readonly EventFilter[] | null | undefined;
  readonly apps?: readonly string[] | null | undefined;
  readonly enabled?: boolean | undefined;
  /** Link for another recipient who is no member. */
  readonly link?: RecipientLink | undefined;
};

/** Makes a new secret and returns it sealed for the destination of this id. */
export type SealSecret = (destinationId: string) => string;

/** Sealed secrets of a webhook; the former one is null unless it still signs. */
export type DestinationSecrets = {
  readonly id: string;
  readonly sealed: string;
  readonly former: string | null;
};

/** Secrets that were sealed again; they replace the stored ones only if those still equal `from`. */
export type ResealedDestination = {
  readonly from: DestinationSecrets;
  readonly to: DestinationSecrets;
};
