// Terms of the ledger's calls for sending notifications: which destinations are due, the outcome of each try,
// and mails to people. A node leases a destination, sends its messages in order, and releases it; the lease
// of a node that dies expires.

import type { DestinationKind, NotificationEvent } from '../contract/notification.ts';

/** Destination that this node may send to. */
export type LeasedDestination = {
  readonly id: string;
  readonly organizationId: string;
  /** Whether its last try failed, or its last ones took longer than two seconds. */
  readonly isSlow: boolean;
};

/** Places of a node, each for sending to one destination; slow destinations have places of their own. */
export type Places = {
  /** Destinations that the node is sending to. */
  readonly held: readonly LeasedDestination[];
  /** Numbers of free places. */
  readonly promptFree: number;
  readonly slowFree: number;
};

/** Message that is to be sent now. */
export type DueDelivery = {
  readonly id: string;
  readonly destinationId: string;
  readonly kind: DestinationKind;
  /** Null for mail. */
  readonly url: string | null;
  /** Recipient of mail; null otherwise. */
  readonly to: string | null;
  /** Whether the recipient of mail has confirmed a link. */
  readonly isConfirmed: boolean;
  /** Secrets of a webhook, encrypted; the former one is null unless it still signs. */
  readonly sealed: string | null;
  readonly former: string | null;
  readonly event: NotificationEvent;
  /** Failed tries, counted from 0 again when the message is sent again. */
  readonly failures: number;
  /** Milliseconds since the destination's first failure after its last success; null while it works. */
  readonly failingMs: number | null;
  /** Base URL of the console for the links of this event: that of the node that tried it first. */
  readonly consoleUrl: string;
};

/** State of a delivery after a try; a waiting one is due again after `inMs` milliseconds. */
export type TriedState =
  | { readonly state: 'delivered' | 'failed' }
  | { readonly state: 'waiting'; readonly inMs: number };

/** `sign-in`: news that concern the sign-in of an account. */
export type MailKind = 'invitation' | 'password-reset' | 'sign-in' | 'confirmation';

/** Mail to a person. The call that makes the reported change stores it in the same transaction. */
export type NewMail = {
  readonly id: string;
  readonly kind: MailKind;
  /** Recipient, subject and text, encrypted: links in them open something. */
  readonly sealed: string;
  /** RFC 3339; the mail is of no use afterwards. */
  readonly expiresAt: string;
};

/** Mail that is to be sent now. */
export type DueMail = Pick<NewMail, 'id' | 'kind' | 'sealed'> & {
  /** Failed tries. */
  readonly failures: number;
};

/** Messages that wait to be sent, those to destinations and those to people together. */
export type WaitingMessages = {
  readonly count: number;
  /** Milliseconds for which the oldest has waited; 0 if none waits. */
  readonly oldestMs: number;
};
