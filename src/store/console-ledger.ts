// The part of the ledger that the console reads: keys, apps, channels and releases with the numbers of their
// devices. The obligations of `ledger.ts` hold here too. No method scans all devices: counts come from
// counters that check-ins maintain, and numbers without a counter are estimated from a bounded sample.

import type { AuditDeed } from '../contract/audit-deed.ts';
import type {
  AppOverview,
  ChannelReleases,
  Found,
  LabelCounts,
  ReleaseDetail,
} from '../contract/console.ts';
import type { AdoptionStepPoint } from '../contract/console-fleet.ts';
import type { Outcome } from '../contract/failure.ts';
import type { AdoptionStep, Channel, ListedKey, ReleaseStatus } from '../contract/resource.ts';

/** Use of a key; `from` is the address of the client. */
export type KeyUse = { readonly id: string; readonly at: string; readonly from: string };

export type AuditFilter = {
  /** Text that the actor must contain, ignoring case; `subject` filters likewise. */
  readonly actor?: string | undefined;
  readonly subject?: string | undefined;
  /** Action, or the part before its dot, which selects all actions that begin with it. */
  readonly action?: string | undefined;
  /** What a steered release went through: a state that it got, or one of the other changes. */
  readonly did?: AuditDeed | undefined;
  /** Times (RFC 3339): entries from `since` on, and before `until`. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  /** Cursor: `next` of the previous page. */
  readonly before?: string | undefined;
  readonly limit: number;
};

/** Releases of a channel to list. */
export type ReleaseFilter = {
  /** Counts from 1. */
  readonly page: number;
  readonly perPage: number;
  /** Text that the version must begin with. */
  readonly version?: string | undefined;
  readonly status?: ReleaseStatus | undefined;
};

/** Numbers of devices seen since the requested times, in the same order. */
export type SeenCounts = {
  readonly total: number;
  readonly seen: readonly number[];
  /** Whether `seen` was estimated from a sample. */
  readonly isEstimate: boolean;
};

export interface ConsoleLedger {
  /** Lists the API keys of an organization, newest first. */
  listKeys(organizationId: string): Promise<readonly ListedKey[]>;

  /** Records when keys were last used; the latest time is kept. */
  recordKeyUses(uses: readonly KeyUse[]): Promise<void>;

  /** Lists an organization's apps by ref, with channels by name. `seenSince` is RFC 3339. */
  listAppOverviews(organizationId: string, seenSince: string): Promise<readonly AppOverview[]>;

  /** Reads the channel's policy. */
  readChannel(
    app: { readonly id: string; readonly ref: string },
    name: string,
  ): Promise<Outcome<Channel, 'unknownChannel'>>;

  /** Counts the devices of the app, or of one of its channels, seen since each of these times (RFC 3339). */
  countSeen(
    appId: string,
    channel: string | undefined,
    since: readonly string[],
  ): Promise<SeenCounts>;

  /** Searches apps, releases and devices of an organization. */
  search(organizationId: string, text: string): Promise<Found>;

  /** Reads a page of the channel's releases, highest version first. */
  listChannelReleases(
    appId: string,
    channel: string,
    wanted: ReleaseFilter,
  ): Promise<Outcome<Omit<ChannelReleases, 'page' | 'pageCount'>, 'unknownChannel'>>;

  /** Reads a release with the numbers of its devices and its history. */
  readReleaseDetail(
    app: { readonly id: string; readonly ref: string },
    channel: string,
    canonicalVersion: string,
  ): Promise<Outcome<ReleaseDetail, 'unknownChannel' | 'unknownRelease'>>;

  /** Counts the labels of the app's devices, the most frequent first. */
  countLabels(appId: string): Promise<LabelCounts>;

  /**
   * Reads the adoption series of one channel or of all, oldest first; of days and months from the one of
   * `since` on. For a fleet with thousands of versions not every hour is read, but hours at equal distances,
   * and only the newest of many days or months.
   */
  readAdoptionSteps(
    appId: string,
    filter: {
      readonly since: string;
      readonly step: AdoptionStep;
      readonly channel: string | undefined;
    },
  ): Promise<readonly AdoptionStepPoint[]>;
}
