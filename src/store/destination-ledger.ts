// The part of the ledger for destinations of notifications: their settings and secrets, and what became of
// the messages to them. Events themselves are written with the changes that they tell of. The obligations of
// `ledger.ts` hold here too.

import type { DeliveryPage } from '../contract/console.ts';
import type { LostRight, Outcome } from '../contract/failure.ts';
import type {
  Destination,
  DestinationKind,
  EventFilter,
  NotificationDelivery,
  OfferedMail,
} from '../contract/notification.ts';
import type { NewMail } from './delivery-ledger.ts';
import type { Actor } from './ledger-terms.ts';

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

/** Secrets sealed again: they replace those that are still as they were read. */
export type ResealedDestination = {
  readonly from: DestinationSecrets;
  readonly to: DestinationSecrets;
};

type Refusal = 'unknownDestination' | LostRight;

export interface DestinationLedger {
  /**
   * Stores a destination, and calls `seal` for a webhook. Mail goes only to members, and to those who confirm
   * its link, which it stores and mails. Refuses apps that the organization does not have.
   */
  createDestination(
    destination: NewDestination,
    seal: SealSecret,
    actor: Actor,
  ): Promise<Outcome<Destination, 'invalid' | 'tooManyDestinations' | LostRight>>;

  /** Returns whether an address is that of a member. */
  isMemberEmail(organizationId: string, email: string): Promise<boolean>;

  /** Mails another link to the recipient of a destination; the one before ends. */
  renewRecipientLink(
    id: string,
    link: RecipientLink,
    actor: Actor,
  ): Promise<Outcome<Destination, 'recipientKnown' | 'invalid' | Refusal>>;

  /** Finds what a link of this hash is for, while it can be used. */
  findRecipientLink(hash: string, at: string): Promise<OfferedMail | undefined>;

  /** Confirms the address of a link, or stops mails to it and drops what waits. */
  answerRecipientLink(
    hash: string,
    wanted: boolean,
    at: string,
  ): Promise<Outcome<true, 'unknownLink'>>;

  /** Lists the organization's destinations, the oldest first. */
  listDestinations(organizationId: string): Promise<readonly Destination[]>;

  findDestination(id: string): Promise<Destination | undefined>;

  /**
   * Changes a destination. A webhook with another address gets a new secret from `seal`. Turning it off or on
   * drops what waits for it. A change without effect writes nothing.
   */
  updateDestination(
    id: string,
    change: DestinationChange,
    seal: SealSecret,
    actor: Actor,
  ): Promise<Outcome<Destination, 'invalid' | Refusal>>;

  /** Gives a webhook a new secret; the one before signs as well for a day. */
  rotateDestination(
    id: string,
    seal: SealSecret,
    actor: Actor,
  ): Promise<Outcome<Destination, 'noSecret' | Refusal>>;

  /** Removes a destination and what became of its messages. */
  removeDestination(id: string, actor: Actor): Promise<Outcome<{ readonly id: string }, Refusal>>;

  /** Sends the event `test` to one destination, whatever it asks for; returns the delivery. */
  testDestination(
    id: string,
    actor: Actor,
  ): Promise<Outcome<NotificationDelivery, 'destinationOff' | Refusal>>;

  /** Lists what was sent in the last seven days, the newest first. A malformed cursor is the first page. */
  listDeliveries(id: string, before: string | undefined, limit: number): Promise<DeliveryPage>;

  /** Sends a message of the last seven days again, at once. */
  sendAgain(
    id: string,
    deliveryId: string,
    actor: Actor,
  ): Promise<Outcome<NotificationDelivery, 'unknownDelivery' | 'destinationOff' | Refusal>>;

  /**
   * Turns off a destination that does not work, and tells the others why; what waits for it is dropped.
   * Returns whether it was on.
   */
  disableDestination(id: string, why: string): Promise<boolean>;

  /** Reads the next sealed secrets, by id. */
  listDestinationSecrets(
    after: string | undefined,
    countMax: number,
  ): Promise<readonly DestinationSecrets[]>;

  /** Replaces secrets that are unchanged; returns of how many destinations. */
  replaceDestinationSecrets(changes: readonly ResealedDestination[]): Promise<number>;
}
