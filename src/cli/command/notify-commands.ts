// Commands for the destinations that an organization's events are sent to.

import type { Command } from 'commander';
import type { ConsoleAnswers } from '../../contract/console.ts';
import {
  DESTINATION_KINDS,
  type Destination,
  type MailRecipient,
  type NotificationDelivery,
} from '../../contract/notification.ts';
import { answering, asking, type Connect, send } from '../call/asking.ts';
import { choice, names, type Options, query } from '../call/options.ts';
import { ServiceError } from '../call/service-client.ts';
import { type Column, fieldColumns } from '../print/print-answer.ts';
import { listing } from './list-commands.ts';

const COLUMNS: readonly Column<Destination>[] = [
  ...fieldColumns('id', 'name', 'kind'),
  { label: 'to', value: ({ url, to }) => url ?? to },
  { label: 'events', value: ({ events }) => events?.join(', ') ?? 'all' },
  { label: 'apps', value: ({ apps }) => apps?.join(', ') ?? 'all' },
  {
    label: 'state',
    value: (destination) => stateOf(destination),
    paint: (destination) => (stateOf(destination) === 'on' ? 'green' : 'red'),
  },
];

const UNREACHED: Readonly<Partial<Record<MailRecipient, string>>> = {
  waiting: 'waits for its recipient',
  expired: 'not confirmed in time',
  declined: 'declined by its recipient',
  stranger: 'no member any more',
};

function stateOf({ enabled, failingSince, recipient }: Destination): string {
  if (!enabled) return 'off';
  const unreached = recipient === null ? undefined : UNREACHED[recipient];
  if (unreached !== undefined) return unreached;
  return failingSince === null ? 'on' : `failing since ${failingSince}`;
}

/**
 * Adds the setting that allows a refused address to its refusal. The service does not name it, because an
 * owner, who cannot change it, reads the same text in the console.
 */
function withSetting(error: ServiceError, { url = '' }: Options): ServiceError {
  const isPlain =
    /^http:/i.test(String(url)) && error.message === 'url: Must be an https:// address';
  if (!isPlain && error.message !== 'url: This address is not public') return error;
  const way =
    'the setting NOTIFY_PRIVATE of the service allows networks, such as 10.20.0.0/16, but no link-local ones';
  return new ServiceError(`${error.message}; ${way}`, error.status);
}

type SentTest = { readonly delivery: NotificationDelivery };

/** Adds `notify` with its subcommands. */
export function addNotifyCommands(program: Command, connect: Connect): void {
  const group = program
    .command('notify')
    .description('where events are told: webhooks, Slack, mail');
  const add = group
    .command('add')
    .description("tell an organization's events somewhere; a webhook's secret is shown this once")
    .requiredOption('--org <id>', 'organization')
    .addOption(choice('--kind <kind>', 'how it is told', DESTINATION_KINDS).makeOptionMandatory())
    .option('--url <url>', 'address of a webhook, or of an incoming webhook of Slack')
    .option('--to <email>', 'who gets the mails; one who is no member confirms a mailed link first')
    .option('--events <names>', 'only these, e.g. plan.tripped,release.* (default: all)', names)
    .option('--apps <refs>', 'only of these apps (default: all)', names)
    .requiredOption('--name <name>', 'what it is for');
  answering(add, connect, (client, options) =>
    client.call('POST', 'destinations', options).catch((error: unknown) => {
      throw error instanceof ServiceError ? withSetting(error, options) : error;
    }),
  );
  const list = group.command('list').description("list where an organization's events are told");
  listing(list, connect, {
    path: ({ org }) => `destinations?${query({ org })}`,
    rows: ({ destinations }: ConsoleAnswers['GET destinations']) => destinations,
    as: 'destinations',
    columns: COLUMNS,
  }).requiredOption('--org <id>', 'organization');
  asking(
    group.command('test <destination-id>').description('send the event `test` to a destination'),
    connect,
    (_options, [id = '']) => send('POST', pathOf(id, '/test'), {}),
    { text: sentText },
  );
  const link = group
    .command('send-link <destination-id>')
    .description('mail the link again with which a recipient who is no member confirms');
  asking(link, connect, (_options, [id = '']) => send('POST', pathOf(id, '/link'), {}));
  const remove = group
    .command('remove <destination-id>')
    .description('tell nothing there any more, and forget what was');
  asking(remove, connect, (_options, [id = '']) => send('DELETE', pathOf(id)));
}

function sentText({ delivery }: SentTest): string {
  return (
    `Sent the event test, as ${delivery.id}: where it does not arrive, sluice notify list tells so in some ` +
    'seconds, and the page of the destination in the console tells why.'
  );
}

function pathOf(id: string, rest = ''): string {
  return `destinations/${encodeURIComponent(id)}${rest}`;
}
