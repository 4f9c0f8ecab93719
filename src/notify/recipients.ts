// Recipients of notifications by mail who are no members: each gets a link, and mails only after a person has
// confirmed on its page. Programs that look into mails open links, so opening alone confirms nothing.

import { createSessionToken, type LinkMail } from '../access/accounts.ts';
import { LinkLookup } from '../access/link-lookup.ts';
import type { LoginThrottle } from '../access/sign-in-limits.ts';
import type { NoContent } from '../contract/console.ts';
import { type Failure, isFailure, type Outcome } from '../contract/failure.ts';
import { LIMIT } from '../contract/limit.ts';
import type { OfferedMail } from '../contract/notification.ts';
import { isoTime } from '../contract/text.ts';
import type { RecipientLink } from '../store/destination-ledger.ts';
import type { Ledger } from '../store/ledger.ts';

type RecipientsDependencies = {
  readonly ledger: Ledger;
  readonly throttle: LoginThrottle;
  readonly now: () => number;
};

export class Recipients {
  private readonly dependencies: RecipientsDependencies;
  private readonly lookup: LinkLookup<OfferedMail, 'unknownLink'>;

  constructor(dependencies: RecipientsDependencies) {
    this.dependencies = dependencies;
    const { ledger } = dependencies;
    this.lookup = new LinkLookup(
      (hash, at) => ledger.findRecipientLink(hash, at),
      'unknownLink',
      dependencies,
    );
  }

  /**
   * Makes the link for an address, within the limits of an organization and of the address over all
   * organizations; undefined if no mail can be sent.
   */
  async makeLink(
    organizationId: string,
    to: string,
    linkMail: LinkMail,
  ): Promise<RecipientLink | undefined | Failure> {
    const { throttle, now } = this.dependencies;
    const { token, hash } = createSessionToken();
    const expiresAt = isoTime(now() + LIMIT.recipientLinkLifetimeMs);
    const mail = linkMail(token, expiresAt);
    if (mail === undefined) return undefined;
    const limited =
      (await throttle.admitLink(organizationId)) ?? (await throttle.admitRecipient(to));
    return limited ?? { hash, to, expiresAt, mail };
  }

  /** Returns what a link is for while it can be used. Only invalid tokens count as tries. */
  async read(token: string, address: string): Promise<Outcome<OfferedMail>> {
    const found = await this.lookup.read(token, address);
    if (isFailure(found)) return found;
    const { organization, to, isConfirmed } = found;
    return { organization, to, isConfirmed };
  }

  /** Confirms the address of a link, or stops the mails to it; the link cannot confirm it again then. */
  async answer(token: string, wanted: boolean, address: string): Promise<Outcome<NoContent>> {
    const found = await this.lookup.read(token, address);
    if (isFailure(found)) return found;
    const { ledger, now } = this.dependencies;
    const answered = await ledger.answerRecipientLink(found.hash, wanted, isoTime(now()));
    return isFailure(answered) ? answered : {};
  }
}
