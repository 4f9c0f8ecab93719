// Terms of the ledger's calls for sending what was told: which destinations are due, what came of each try,
// and mails to people. A node leases a destination, sends its messages in order, and gives it back; the lease
// of a node that dies ends by itself.

import type { DestinationKind, NotificationEvent } from '../contract/notification.ts';

/** Destination that this node may send to. */
export type LeasedDestination = {
  readonly id: string;
  readonly organizationId: string;
  /** Whether its last try failed, or its last ones took longer than two seconds. */
  readonly isSlow: boolean;
};

/** Places in which a node sends, each to one destination; slow destinations share places of their own. */
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
  /** Failed tries since it was sent anew. */
  readonly failures: number;
  /** Milliseconds since the destination's first failure after its last success; null while it works. */
  readonly failingMs: number | null;
  /** Base URL of the console for the links of this event: the one of its first try. */
  readonly consoleUrl: string;
};

/** State of a delivery after a try; one that waits is due again after so many milliseconds. */
export type TriedState =
  | { readonly state: 'delivered' | 'failed' }
  | { readonly state: 'waiting'; readonly inMs: number };

/** `sign-in`: news of the ways into an account. */
export type MailKind = 'invitation' | 'password-reset' | 'sign-in' | 'confirmation';

/** Mail to a person on its way into the ledger, by the call that makes what the mail tells. */
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

/** What waits to be sent, destinations and people together. */
export type WaitingMessages = {
  readonly count: number;
  /** Milliseconds for which the oldest waits; 0 if none does. */
  readonly oldestMs: number;
};
