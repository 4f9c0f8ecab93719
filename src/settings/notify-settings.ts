// Settings of notifications: networks that they may reach, and how mails are sent.

import { isIP } from 'node:net';
import { z } from 'zod';
import { parseUrl } from '../contract/address.ts';

export type NotifySettings = Readonly<{
  /** Networks that webhooks may reach besides public addresses, also over plain http; as CIDRs. */
  privateNetworks: readonly string[];
  /** Undefined if no mails are sent. */
  mail: MailSettings | undefined;
}>;

type MailSettings = Readonly<{
  /** URL of the SMTP server, with user name and password. */
  smtpUrl: string;
  /** Sender, as in the header `From`. */
  from: string;
}>;

const SMTP_SCHEMES = ['smtp:', 'smtps:'];
/** An address, or a name and an address in angle brackets; a line break would add headers. */
const SENDER =
  /^(?:[^\p{Cc}<>"]{1,128}<[^\p{Cc}\s<>@",]+@[^\p{Cc}\s<>@",]+>|[^\p{Cc}\s<>@",]+@[^\p{Cc}\s<>@",]+)$/u;

/** Text; undefined if it is unset or empty. */
const optional = z
  .string()
  .optional()
  .transform((value) => value || undefined);

/** Shapes of the variables. */
export const NOTIFY_SHAPE = {
  NOTIFY_PRIVATE: optional.transform((value, { addIssue }) => {
    const parts = (value ?? '').split(',').map((part) => part.trim());
    const networks = parts.filter((part) => part !== '');
    if (!networks.every(isNetwork)) addIssue('must be networks such as 10.0.0.0/8,fd00::/8');
    return Object.freeze(networks);
  }),
  SMTP_URL: optional.refine(
    (value) => value === undefined || isMailServer(value),
    'must be an smtp:// or smtps:// address',
  ),
  SMTP_URL_FILE: optional,
  MAIL_FROM: optional.refine(
    (value) => value === undefined || SENDER.test(value),
    'must be an email address, or a name and an address: Updates <updates@example.com>',
  ),
};

/** Builds the settings from the variables; `refuse` gets a line that begins with a variable's name. */
export function readNotify(
  variables: {
    readonly NOTIFY_PRIVATE: readonly string[];
    readonly SMTP_URL: string | undefined;
    readonly MAIL_FROM: string | undefined;
  },
  refuse: (line: string) => never,
): NotifySettings {
  const { NOTIFY_PRIVATE: privateNetworks, SMTP_URL: smtpUrl, MAIL_FROM: from } = variables;
  if (smtpUrl === undefined) return Object.freeze({ privateNetworks, mail: undefined });
  const sender = from ?? refuse('MAIL_FROM: must be set where SMTP_URL is');
  return Object.freeze({ privateNetworks, mail: Object.freeze({ smtpUrl, from: sender }) });
}

function isNetwork(cidr: string): boolean {
  const [address = '', bits = '', ...rest] = cidr.split('/');
  const family = isIP(address);
  const isPrefix = /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 6 ? 128 : 32);
  return family !== 0 && !address.includes('%') && isPrefix && rest.length === 0;
}

function isMailServer(value: string): boolean {
  const url = parseUrl(value);
  return url !== undefined && SMTP_SCHEMES.includes(url.protocol) && url.hostname !== '';
}
