// Mails to people that belong to no destination: invitations, links to a new password, sign-ins from new
// browsers. They wait in the ledger encrypted, because their links open something.

import { randomBytes } from 'node:crypto';
import type { MailKind, NewMail } from '../store/delivery-ledger.ts';
import type { MailText } from './message.ts';

/** Mail to a person. */
export type PersonMail = MailText & { readonly to: string };

/** Encrypts a text for an owner, and decrypts it: undefined if no key fits. */
export type Seal = (text: string, owner: string) => string;
export type Unseal = (sealed: string, owner: string) => string | undefined;

/** Returns a mail as the ledger keeps it. `expiresAt`: RFC 3339. */
export function sealMail(seal: Seal, kind: MailKind, mail: PersonMail, expiresAt: string): NewMail {
  const id = `mail_${randomBytes(12).toString('hex')}`;
  return { id, kind, sealed: seal(JSON.stringify(mail), id), expiresAt };
}

/** Returns a mail that the ledger kept; undefined if the key is another by now. */
export function unsealMail(
  unseal: Unseal,
  { id, sealed }: Pick<NewMail, 'id' | 'sealed'>,
): PersonMail | undefined {
  const text = unseal(sealed, id);
  // `sealMail` wrote it.
  return text === undefined ? undefined : (JSON.parse(text) as PersonMail);
}

export function invitationMail(to: string, organization: string, url: string): PersonMail {
  return {
    to,
    subject: oneLine(`You are invited to ${organization}`),
    text: `You are invited to join ${oneLine(organization)} in Sluice:\n\n${url}\n\nThe link works once.\n`,
  };
}

export function passwordResetMail(to: string, url: string): PersonMail {
  return {
    to,
    subject: 'Set a new password',
    text: `With this link you set a new password for ${to} in Sluice:\n\n${url}\n\nIt works once.\n`,
  };
}

/** Tells of a sign-in from a browser that the account was not used with before. `at`: RFC 3339. */
export function signInMail(to: string, address: string, at: string): PersonMail {
  return {
    to,
    subject: 'Sign-in from a new browser',
    text:
      `Your account ${to} was signed in to from a new browser: ${at}, address ${address}.\n\n` +
      'If that was not you, set another password, which ends all sessions.\n',
  };
}

/** Names may have any characters. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ');
}
