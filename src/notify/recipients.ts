// Recipients of notifications by mail who are no members: each is mailed a link, and gets notifications only
// after confirming on its page. Opening the link does not confirm, because mail scanners open links too.

import type { OneTimeLinks } from '../access/one-time-links.ts';
import type { LoginThrottle } from '../access/sign-in-limits.ts';
import type { NoContent } from '../contract/console.ts';
import { type Failure, isFailure, type Outcome } from '../contract/failure.ts';
import { isoTime } from '../contract/text.ts';
import type { RecipientLink } from '../store/destination-ledger.ts';
import type { Ledger } from '../store/ledger.ts';

type RecipientsDependencies = {
  readonly ledger: Ledger;
  readonly throttle: LoginThrottle;
  readonly links: OneTimeLinks;
  readonly now: () => number;
};

export class Recipients {
  constructor(private readonly dependencies: RecipientsDependencies) {}

  /**
   * Creates the link for an address, below `base`, the base URL of the console, within the limit of links of
   * the organization and that of the address over all organizations. Undefined if no mail can be sent.
   */
  async makeLink(
    organizationId: string,
    to: string,
    base: string,
  ): Promise<RecipientLink | undefined | Failure> {
    const { throttle, links } = this.dependencies;
    const { stored, mailTo } = links.make('recipient', base);
    const mail = mailTo(to);
    if (mail === undefined) return undefined;
    const limited =
      (await throttle.admitLink(organizationId)) ?? (await throttle.admitRecipient(to));
    return limited ?? { hash: stored.tokenHash, to, expiresAt: stored.expiresAt, mail };
  }

  /** Confirms the address of a link, or stops its mails; after a stop, the link cannot confirm it again. */
  async answer(token: string, wanted: boolean, address: string): Promise<Outcome<NoContent>> {
    const { ledger, links, now } = this.dependencies;
    const found = await links.read('recipient', token, address);
    if (isFailure(found)) return found;
    const answered = await ledger.answerRecipientLink(found.hash, wanted, isoTime(now()));
    return isFailure(answered) ? answered : {};
  }
}
