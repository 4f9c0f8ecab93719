// Links that work once: invitations, links to set a new password or to remove lost passkeys, sign-ins that
// still have to be proved, and links to recipients of mails, who can use theirs again to stop the mails. This
// file makes and looks up links; the file of each kind uses them.

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

/** Maximum number of concurrent look-ups for each kind of link, because every forged token costs one. */
const RUNNING_MAX = 2;
const WAITING_MAX = 1000;

/** Refusal, by kind, of a token that belongs to no open link. */
const UNKNOWN = {
  reset: 'unknownReset',
  recovery: 'unknownReset',
  arrival: 'unknownArrival',
  invitation: 'unknownInvitation',
  recipient: 'unknownLink',
} as const satisfies Readonly<Record<string, FailureKind>>;

type Kind = keyof typeof UNKNOWN;
type Offers = LinkOffers & { readonly recipient: OfferedMail };

/** Pages of the console that links lead to, and how long the links are valid. */
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
  /** Returns the mail to `email` that contains the link or announces it, if mails are sent. */
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
   * Returns what an open link offers to the holder of its token, with the token's hash. Only invalid tokens
   * count as tries of an IP address, so that others cannot lock out the holder of a valid one.
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
   * Makes a link for an account. Only the operator makes links to set a new password. The operator, or an
   * owner of one of the account's organizations, makes links to remove lost passkeys; those of an
   * organization are limited.
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
