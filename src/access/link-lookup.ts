// Look-up of what a token stands for that works once: an invitation, a link to a new password or from lost
// passkeys, a sign-in that is still to be proved.

import { type FailureKind, fail, type Outcome } from '../contract/failure.ts';
import { isoTime } from '../contract/text.ts';
import { ConcurrencyLimit } from '../flow/concurrency-limit.ts';
import { tokenHash } from './accounts.ts';
import type { LoginThrottle } from './sign-in-limits.ts';

/** Maximum number of concurrent look-ups, because every forged token costs one. */
const RUNNING_MAX = 2;
const WAITING_MAX = 1000;

type LinkLookupDependencies = {
  readonly throttle: LoginThrottle;
  readonly now: () => number;
};

export class LinkLookup<Found extends object, Kind extends FailureKind> {
  private readonly find: (hash: string, at: string) => Promise<Found | undefined>;
  private readonly unknown: Kind;
  private readonly dependencies: LinkLookupDependencies;
  private readonly limit = new ConcurrencyLimit(RUNNING_MAX, WAITING_MAX);

  /** `find` reads the ledger; `unknown` is the refusal of a token that it does not find. */
  constructor(
    find: (hash: string, at: string) => Promise<Found | undefined>,
    unknown: Kind,
    dependencies: LinkLookupDependencies,
  ) {
    this.find = find;
    this.unknown = unknown;
    this.dependencies = dependencies;
  }

  /**
   * Returns what a token stands for while it can be used, with the token's hash. Only invalid tokens count as
   * tries of an IP address, so that others cannot lock out the holder of a valid one.
   */
  async read(
    token: string | undefined,
    address: string,
  ): Promise<Outcome<Found & { readonly hash: string }>> {
    const { throttle, now } = this.dependencies;
    const hash = tokenHash(token);
    const found =
      hash === undefined ? undefined : await this.limit.pass(() => this.find(hash, isoTime(now())));
    if (hash !== undefined && found !== undefined) return { ...found, hash };
    return (await throttle.admitAddress(address)) ?? fail(this.unknown);
  }
}
