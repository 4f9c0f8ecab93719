// Mails to people that belong to no destination: invitations, links to a new password, and news of the ways
// into their accounts. They wait in the ledger encrypted, because their links open something.

import { randomBytes } from 'node:crypto';
import type { MailKind, NewMail } from '../store/delivery-ledger.ts';
import type { MailText } from './message.ts';

/** Time after which what happened to an account is no news, in milliseconds. */
const NEWS_MS = 86_400_000;

/** Mail to a person. */
type PersonMail = MailText & { readonly to: string };

/** Encrypts a text for an owner, and decrypts it: undefined if no key fits. */
type Seal = (text: string, owner: string) => string;
export type Unseal = (sealed: string, owner: string) => string | undefined;

/** Returns a mail as the ledger keeps it. `expiresAt`: RFC 3339. */
function sealMail(seal: Seal, kind: MailKind, mail: PersonMail, expiresAt: string): NewMail {
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

/**
 * Writes mails to people, for the ledger to store together with what they tell; without a server of mails,
 * none. They are sent in the background.
 */
export class PeopleMails {
  readonly #seal: Seal | undefined;

  /** `seal`: undefined if no mails are sent, without a server of mails or a key to encrypt them with. */
  constructor(seal: Seal | undefined) {
    this.#seal = seal;
  }

  /** Has the link of an invitation, which is of use until `expiresAt` (RFC 3339). */
  invitation(to: string, url: string, expiresAt: string): NewMail | undefined {
    const text = `You are invited to an organization. This link says which, and works once:\n\n${url}\n`;
    return this.#write('invitation', { to, subject: 'You are invited to Sluice', text }, expiresAt);
  }

  /** Has the link that sets a new password, which is of use until `expiresAt` (RFC 3339). */
  reset(to: string, url: string, expiresAt: string): NewMail | undefined {
    const text = `With this link you set a new password for ${to}. It works once:\n\n${url}\n`;
    return this.#write('password-reset', { to, subject: 'Set a new password', text }, expiresAt);
  }

  /** Asks an address that is no member's whether it wants the notifications of an organization. */
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

  /** Tells of a sign-in from a browser that the account was not used with before. */
  signIn(to: string, address: string, atMs: number): NewMail | undefined {
    return this.#tell(to, 'Sign-in from a new browser', atMs, {
      what: `Your account ${to} was signed in to from a new browser, address ${address}`,
      todo: 'set another password, which ends all sessions',
    });
  }

  /** Tells of a passkey that a session of the account has added or removed. */
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

  /** Tells of a link that removes the account's passkeys. */
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
