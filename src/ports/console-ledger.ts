// The part of the ledger that the console reads: keys, apps, channels and releases with where their devices
// are. Same obligations as the rest of the ledger. Nothing here scans the devices: counts come from those
// that check-ins maintain, and what nobody counts is estimated from a bounded sample.

import type { Outcome } from '../contract/failure.ts';
import type {
  AdoptionStep,
  Artifact,
  AuditEntry,
  Channel,
  ListedKey,
  ReleaseStatus,
  Targeting,
} from '../contract/resource.ts';

export type KeyUse = { readonly id: string; readonly at: string };

export type AuditFilter = {
  /** Parts of the actor's and subject's texts, whatever the case. */
  readonly actor?: string | undefined;
  readonly subject?: string | undefined;
  /** An action, or the part before its dot. */
  readonly action?: string | undefined;
  /** `next` of the page before. */
  readonly before?: string | undefined;
  readonly limit: number;
};

export type AuditPage = {
  readonly entries: readonly AuditEntry[];
  /** Null on the last page. */
  readonly next: string | null;
};

export type NewestRelease = {
  readonly version: string;
  readonly status: ReleaseStatus;
  readonly rolloutPct: number;
  readonly createdAt: string;
};

export type ChannelOverview = {
  readonly name: string;
  /** How many. */
  readonly releases: number;
  /** The one of the highest version. */
  readonly newest: NewestRelease | null;
  /** Published, above every release that everybody gets, and not for everybody yet; highest first. */
  readonly rolling: readonly { readonly version: string; readonly rolloutPct: number }[];
};

export type AppOverview = {
  readonly id: string;
  readonly ref: string;
  readonly name: string;
  readonly devices: number;
  /** Of them seen since the time asked for; an estimate where there are many. */
  readonly devicesDay: number;
  readonly channels: readonly ChannelOverview[];
};

/** A number of devices per moment asked for, in the same order. */
export type SeenCounts = {
  readonly total: number;
  readonly seen: readonly number[];
  /** Whether `seen` was estimated from a sample. */
  readonly isEstimate: boolean;
};

export type ListedRelease = {
  readonly id: string;
  readonly version: string;
  readonly status: ReleaseStatus;
  readonly rolloutPct: number;
  readonly targets: Targeting | null;
  readonly offered: boolean;
  readonly createdAt: string;
  /** How many. */
  readonly artifacts: number;
  /** That run it, on this channel. */
  readonly devices: number;
};

export type ChannelReleases = {
  readonly releases: readonly ListedRelease[];
  readonly total: number;
  /** Devices on the channel. */
  readonly fleet: number;
};

export type ReleaseDetail = {
  readonly release: Omit<ListedRelease, 'artifacts' | 'devices'> & {
    readonly notes: string;
    /** How it came: published, or announced by a webhook. */
    readonly source: 'api' | 'webhook';
    readonly artifacts: readonly Artifact[];
  };
  readonly devices: {
    /** That run it. */
    readonly on: number;
    /** Whose last offer it was. */
    readonly offered: number;
    readonly offeredIsEstimate: boolean;
    /** That run a lower version. */
    readonly below: number;
    readonly fleet: number;
  };
  readonly history: readonly AuditEntry[];
  /** Where a rollback would send those that run it: the highest lower version that is for everybody. */
  readonly rollback: { readonly devices: number; readonly to: string | null };
};

export type LabelCounts = {
  readonly keys: readonly {
    readonly key: string;
    readonly values: readonly { readonly value: string; readonly devices: number }[];
  }[];
  /** Whether the devices were estimated from a sample, which may miss rare labels. */
  readonly sampled: boolean;
};

/** Devices seen per hour, as the mean over the hours of a step in which any were; rounded up. */
export type AdoptionStepPoint = {
  /** Begin of the step, RFC 3339 UTC. */
  readonly at: string;
  /** The 20 with the most devices each for themselves, all others together as null; empty is unknown. */
  readonly version: string | null;
  readonly devices: number;
};

export interface ConsoleLedger {
  /** Newest first. */
  listKeys(organizationId: string): Promise<readonly ListedKey[]>;

  /** Notes when keys were last used; of several times the latest stays. */
  recordKeyUses(uses: readonly KeyUse[]): Promise<void>;

  /** By ref, channels by name. `seenSince` is RFC 3339. */
  listAppOverviews(organizationId: string, seenSince: string): Promise<readonly AppOverview[]>;

  /** 404 unknown channel. */
  readChannel(
    app: { readonly id: string; readonly ref: string },
    name: string,
  ): Promise<Outcome<Channel>>;

  /** Devices of the app, or of one of its channels, seen since each of these times (RFC 3339). */
  countSeen(
    appId: string,
    channel: string | undefined,
    since: readonly string[],
  ): Promise<SeenCounts>;

  /** Highest version first. `page` from 1. 404 unknown channel. */
  listChannelReleases(
    appId: string,
    channel: string,
    page: number,
    perPage: number,
  ): Promise<Outcome<ChannelReleases>>;

  /** 404 unknown channel or release. */
  readReleaseDetail(
    app: { readonly id: string; readonly ref: string },
    channel: string,
    canonicalVersion: string,
  ): Promise<Outcome<ReleaseDetail>>;

  /** The labels of the app's devices, those of the most devices first. */
  countLabels(appId: string): Promise<LabelCounts>;

  /**
   * Oldest first; of one channel, or of all. Of a fleet with thousands of versions not every hour is read,
   * but hours at equal distances.
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
