// Mails to people that belong to no destination: invitations, links to a new password, sign-ins from new
// browsers. They wait in the ledger encrypted, because their links open something.

import { randomBytes } from 'node:crypto';
import type { DeliveryLedger, MailKind, NewMail } from '../store/delivery-ledger.ts';
import type { MailText } from './message.ts';

/** Time after which a sign-in is no news, in milliseconds. */
const SIGN_IN_MAIL_MS = 86_400_000;

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

type PeopleMailsDependencies = {
  readonly ledger: Pick<DeliveryLedger, 'createMail'>;
  /** Undefined if no mails are sent: without a server of mails, or a key to encrypt them with. */
  readonly seal: Seal | undefined;
};

/** Writes mails to people; without a server of mails, none. They are sent in the background. */
export class PeopleMails {
  readonly #dependencies: PeopleMailsDependencies;

  constructor(dependencies: PeopleMailsDependencies) {
    this.#dependencies = dependencies;
  }

  /** Mails the link of an invitation, which is of use until `expiresAt` (RFC 3339). */
  invitation(to: string, url: string, expiresAt: string): Promise<void> {
    const text = `You are invited to an organization. This link says which, and works once:\n\n${url}\n`;
    return this.#write('invitation', { to, subject: 'You are invited to Sluice', text }, expiresAt);
  }

  /** Mails the link that sets a new password, which is of use until `expiresAt` (RFC 3339). */
  passwordReset(to: string, url: string, expiresAt: string): Promise<void> {
    const text = `With this link you set a new password for ${to}. It works once:\n\n${url}\n`;
    return this.#write('password-reset', { to, subject: 'Set a new password', text }, expiresAt);
  }

  /** Tells of a sign-in from a browser that the account was not used with before. */
  signIn(to: string, address: string, atMs: number): Promise<void> {
    const at = new Date(atMs).toISOString();
    const text =
      `Your account ${to} was signed in to from a new browser: ${at}, address ${address}.\n\n` +
      'If that was not you, set another password, which ends all sessions.\n';
    const expiresAt = new Date(atMs + SIGN_IN_MAIL_MS).toISOString();
    return this.#write('sign-in', { to, subject: 'Sign-in from a new browser', text }, expiresAt);
  }

  async #write(kind: MailKind, mail: PersonMail, expiresAt: string): Promise<void> {
    const { ledger, seal } = this.#dependencies;
    if (seal !== undefined) await ledger.createMail(sealMail(seal, kind, mail, expiresAt));
  }
}
