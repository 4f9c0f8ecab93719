// Destinations of notifications as the console shows and edits them.

import {
  type Destination,
  type DestinationKind,
  EVENT_FILTERS,
  type EventFilter,
  type MailRecipient,
  type NotificationDelivery,
} from '../../contract/notification.ts';

export const KIND_NAMES: Readonly<Record<DestinationKind, string>> = {
  webhook: 'Webhook',
  slack: 'Slack',
  mail: 'Mail',
};

/** Destination as entered in a form; no events, or no apps, mean all of them. */
export type DestinationDraft = {
  readonly kind: DestinationKind;
  readonly name: string;
  /** URL, or recipient of mail. */
  readonly address: string;
  readonly events: readonly string[];
  readonly apps: readonly string[];
};

/** Returns the draft of a destination; if undefined, that of a new webhook. */
export function destinationDraft(destination?: Destination): DestinationDraft {
  const { kind = 'webhook', name = '', url, to, events, apps } = destination ?? {};
  return { kind, name, address: url ?? to ?? '', events: events ?? [], apps: apps ?? [] };
}

/** Returns why a draft cannot be sent; undefined if it can. */
export function destinationObstacle({ events }: DestinationDraft): string | undefined {
  const unknown = events.find((event) => !EVENT_FILTERS.includes(event as EventFilter));
  return unknown === undefined ? undefined : `There is no event ${unknown}`;
}

/** Returns the fields of a draft to send: all for a new destination, else those that differ from `before`. */
export function destinationBody(draft: DestinationDraft, before?: Destination): object {
  const { kind, name, address, events, apps } = draft;
  const was = before === undefined ? undefined : destinationDraft(before);
  const isSame = (left: unknown, right: unknown) => JSON.stringify(left) === JSON.stringify(right);
  return {
    ...(before === undefined ? { kind } : {}),
    ...(name === was?.name ? {} : { name }),
    ...(address === was?.address ? {} : { [kind === 'mail' ? 'to' : 'url']: address.trim() }),
    ...(isSame(events, was?.events) ? {} : { events: events.length === 0 ? null : events }),
    ...(isSame(apps, was?.apps) ? {} : { apps: apps.length === 0 ? null : apps }),
  };
}

/** Describes which events a destination gets. */
export function destinationText({ events, apps }: Pick<Destination, 'events' | 'apps'>): string {
  const what = events === null ? 'Everything' : events.join(', ');
  return apps === null ? `${what}, of all apps` : `${what}, of ${apps.join(', ')} only`;
}

const UNREACHED: Readonly<Partial<Record<MailRecipient, string>>> = {
  waiting: 'No mails until its recipient confirms the link.',
  expired: 'No mails: its recipient has not confirmed the link within 7 days.',
  declined: 'No mails: its recipient does not want them.',
  stranger: 'No mails: its recipient is no longer a member.',
};

/** Returns why the recipient of a destination gets no mails; undefined if nothing prevents them. */
export function recipientText({ recipient }: Pick<Destination, 'recipient'>): string | undefined {
  return recipient === null ? undefined : UNREACHED[recipient];
}

/** Returns how the last try of a delivery ended, and the number of tries. */
export function tryText({ tries }: Pick<NotificationDelivery, 'tries'>): string {
  const last = tries.at(-1);
  if (last === undefined) return 'Not tried yet';
  const outcome = last.error ?? (last.status === null ? 'Taken' : `Answered ${last.status}`);
  return tries.length === 1 ? outcome : `${outcome} (try ${tries.length})`;
}
