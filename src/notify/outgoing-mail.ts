// Mails to people that belong to no destination: invitations, links for a new password, confirmations, and
// news about sign-ins to their accounts. The ledger stores them encrypted, because their links grant access.

import { randomBytes } from 'node:crypto';
import type { MailKind, NewMail } from '../store/delivery-ledger.ts';
import type { MailText } from './message.ts';

/** Milliseconds after an event of an account until which a mail about it is worth sending. */
const NEWS_MS = 86_400_000;

/** Mail to a person. */
type PersonMail = MailText & { readonly to: string };

/** Encrypts a text for an owner. `Unseal` decrypts it; undefined if no key fits. */
type Seal = (text: string, owner: string) => string;
export type Unseal = (sealed: string, owner: string) => string | undefined;

/** Returns a mail, encrypted, for the ledger to store. `expiresAt`: RFC 3339. */
function sealMail(seal: Seal, kind: MailKind, mail: PersonMail, expiresAt: string): NewMail {
  const id = `mail_${randomBytes(12).toString('hex')}`;
  return { id, kind, sealed: seal(JSON.stringify(mail), id), expiresAt };
}

/** Decrypts a mail from the ledger; undefined if the key has been changed. */
export function unsealMail(
  unseal: Unseal,
  { id, sealed }: Pick<NewMail, 'id' | 'sealed'>,
): PersonMail | undefined {
  const text = unseal(sealed, id);
  // `sealMail` wrote this JSON.
  return text === undefined ? undefined : (JSON.parse(text) as PersonMail);
}

/**
 * Writes mails to people. The ledger stores each in the transaction of the change that it reports, and a
 * background process sends it. Without a mail server, every method returns undefined.
 */
export class PeopleMails {
  readonly #seal: Seal | undefined;

  /** `seal`: undefined if no mails are sent, as without a mail server or without SECRET_KEY. */
  constructor(seal: Seal | undefined) {
    this.#seal = seal;
  }

  /** Returns a mail with the link of an invitation, which expires at `expiresAt` (RFC 3339). */
  invitation(to: string, url: string, expiresAt: string): NewMail | undefined {
    const text = `You are invited to an organization. This link says which, and works once:\n\n${url}\n`;
    return this.#write('invitation', { to, subject: 'You are invited to Sluice', text }, expiresAt);
  }

  /** Returns a mail with the link that sets a new password, which expires at `expiresAt` (RFC 3339). */
  reset(to: string, url: string, expiresAt: string): NewMail | undefined {
    const text = `With this link you set a new password for ${to}. It works once:\n\n${url}\n`;
    return this.#write('password-reset', { to, subject: 'Set a new password', text }, expiresAt);
  }

  /** Returns a mail that asks a person who is no member to confirm notifications of an organization. */
  recipient(to: string, url: string, expiresAt: string): NewMail | undefined {
    const text = [
      `An organization wants to mail its notifications to ${to}. This link says which:`,
      url,
      'You get none unless you confirm on its page. If you did not expect this, do nothing.',
      'Keep this mail: on the same page you stop the mails again.',
    ].join('\n\n');
    const subject = 'Confirm notifications by mail';
    return this.#write('confirmation', { to, subject, text: `${text}\n` }, expiresAt);
  }

  /** Returns a mail about a sign-in from a browser in which the account was not used before. */
  signIn(to: string, address: string, atMs: number): NewMail | undefined {
    return this.#tell(to, 'Sign-in from a new browser', atMs, {
      what: `Your account ${to} was signed in to from a new browser, address ${address}`,
      todo: 'set another password, which ends all sessions',
    });
  }

  /** Returns a mail about a passkey that a session of the account has added or removed. */
  passkey(to: string, deed: 'added' | 'removed', atMs: number): NewMail | undefined {
    const [place, todo] =
      deed === 'added'
        ? ['added to', 'remove the passkey on the page of your account, and set another password']
        : ['removed from', 'set another password, which ends all sessions, and add a passkey'];
    return this.#tell(to, `A passkey was ${place} your account`, atMs, {
      what: `With a session of your account ${to} a passkey was ${place} it`,
      todo,
    });
  }

  /** Returns a mail about a link that removes the account's passkeys: it was created, or used. */
  recovery(to: string, deed: 'made' | 'used', atMs: number): NewMail | undefined {
    const what =
      deed === 'made'
        ? `A link that removes all passkeys of your account ${to} was made for you`
        : `All passkeys of your account ${to} were removed with a link and the password`;
    const todo = 'set another password, and tell the owners of your organization';
    return this.#tell(to, 'Recovery of your account', atMs, { what, todo });
  }

  #tell(
    to: string,
    subject: string,
    atMs: number,
    { what, todo }: { readonly what: string; readonly todo: string },
  ): NewMail | undefined {
    const at = new Date(atMs).toISOString();
    const text = `${what}: ${at}.\n\nIf that was not you, or not for you, ${todo}.\n`;
    const expiresAt = new Date(atMs + NEWS_MS).toISOString();
    return this.#write('sign-in', { to, subject, text }, expiresAt);
  }

  #write(kind: MailKind, mail: PersonMail, expiresAt: string): NewMail | undefined {
    return this.#seal && sealMail(this.#seal, kind, mail, expiresAt);
  }
}
