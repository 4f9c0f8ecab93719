// Links that work once: invitations, links to a new password and from lost passkeys, sign-ins that are still
// to be proved, and links to recipients of mails, which work again to stop those. Here they are made and
// looked up; what using one does stands with its noun.

import type { IssuedLink } from '../contract/console.ts';
import { type FailureKind, fail, isFailure, type Outcome } from '../contract/failure.ts';
import { LIMIT } from '../contract/limit.ts';
import type { OfferedMail } from '../contract/notification.ts';
import { isoTime } from '../contract/text.ts';
import { ConcurrencyLimit } from '../flow/concurrency-limit.ts';
import type {
  AccountLinkKind,
  LinkedAccount,
  LinkKind,
  LinkOffers,
} from '../store/account-ledger.ts';
import type { NewMail } from '../store/delivery-ledger.ts';
import type { Ledger } from '../store/ledger.ts';
import type { Actor } from '../store/ledger-terms.ts';
import type { LoginThrottle } from './sign-in-limits.ts';
import { createToken, tokenHash } from './token.ts';

/** Maximum number of concurrent look-ups of a kind, because every forged token costs one. */
const RUNNING_MAX = 2;
const WAITING_MAX = 1000;

/** Refusals of a token that no open link of the kind has. */
const UNKNOWN = {
  reset: 'unknownReset',
  recovery: 'unknownReset',
  arrival: 'unknownArrival',
  invitation: 'unknownInvitation',
  recipient: 'unknownLink',
} as const satisfies Readonly<Record<string, FailureKind>>;

type Kind = keyof typeof UNKNOWN;
type Offers = LinkOffers & { readonly recipient: OfferedMail };

/** Pages of the console that links lead to, and how long those are of use. */
const PAGES = {
  reset: { path: 'password-reset', lifetimeMs: LIMIT.passwordResetLifetimeMs },
  recovery: { path: 'recovery', lifetimeMs: LIMIT.recoveryLifetimeMs },
  invitation: { path: 'invitation', lifetimeMs: LIMIT.invitationLifetimeMs },
  recipient: { path: 'confirmation', lifetimeMs: LIMIT.recipientLinkLifetimeMs },
};

type PageKind = keyof typeof PAGES;

type OneTimeLinksDependencies = {
  readonly ledger: Ledger;
  readonly throttle: LoginThrottle;
  /** Returns the mail to `email` that has the link or tells of it, if mails are sent. */
  readonly mail: (
    kind: PageKind,
    email: string,
    link: IssuedLink,
    atMs: number,
  ) => NewMail | undefined;
  readonly now: () => number;
};

export class OneTimeLinks {
  private readonly lookUps: {
    readonly [Of in Kind]: (hash: string) => Promise<Offers[Of] | undefined>;
  };

  constructor(private readonly dependencies: OneTimeLinksDependencies) {
    const { ledger, now } = dependencies;
    const limited = <Offer>(find: (hash: string, at: string) => Promise<Offer | undefined>) => {
      const limit = new ConcurrencyLimit(RUNNING_MAX, WAITING_MAX);
      return (hash: string) => limit.pass(() => find(hash, isoTime(now())));
    };
    const inLedger = <Of extends LinkKind>(kind: Of) =>
      limited((hash, at) => ledger.findLink(kind, hash, at));
    this.lookUps = {
      reset: inLedger('reset'),
      recovery: inLedger('recovery'),
      arrival: inLedger('arrival'),
      invitation: inLedger('invitation'),
      recipient: limited((hash, at) => ledger.findRecipientLink(hash, at)),
    };
  }

  /**
   * Returns what a token stands for while it can be used, with the token's hash. Only invalid tokens count as
   * tries of an IP address, so that others cannot lock out the holder of a valid one.
   */
  async read<Of extends Kind>(
    kind: Of,
    token: string | undefined,
    address: string,
  ): Promise<Outcome<{ readonly offer: Offers[Of]; readonly hash: string }>> {
    const { throttle } = this.dependencies;
    const hash = tokenHash(token);
    const offer = hash === undefined ? undefined : await this.lookUps[kind](hash);
    if (hash !== undefined && offer !== undefined) return { offer, hash };
    return (await throttle.admitAddress(address)) ?? fail(UNKNOWN[kind]);
  }

  /** Makes a link below the base URL of the console. Only `issued` has the token. */
  make(kind: PageKind, base: string) {
    const { mail, now } = this.dependencies;
    const { path, lifetimeMs } = PAGES[kind];
    const { token, hash } = createToken();
    const atMs = now();
    const expiresAt = isoTime(atMs + lifetimeMs);
    const issued: IssuedLink = { url: `${base}/console/${path}/${token}`, expiresAt };
    return {
      issued,
      stored: { tokenHash: hash, at: isoTime(atMs), expiresAt },
      mailTo: (email: string) => mail(kind, email, issued, atMs),
    };
  }

  /**
   * Makes a link for an account. The operator makes one to a new password for a person who forgot the old
   * one; an owner of one of the account's organizations, whose links are limited, or the operator makes one
   * for a person who has lost the passkeys.
   */
  async create(
    kind: AccountLinkKind,
    of: LinkedAccount,
    actor: Actor,
    base: string,
  ): Promise<Outcome<IssuedLink>> {
    const { ledger, throttle } = this.dependencies;
    if (kind === 'reset' && actor.kind !== 'admin-token') return fail('forbidden');
    const limited = 'email' in of ? undefined : await throttle.admitLink(of.organizationId);
    if (limited !== undefined) return limited;
    const { issued, stored, mailTo } = this.make(kind, base);
    const created = await ledger.createAccountLink(kind, of, { ...stored, mailTo }, actor);
    return isFailure(created) ? created : issued;
  }
}
