// What an announcement of a code host makes of the release that stands under its version on a channel, as a
// function of what is known: the ledger reads that under the channel's lock and stores what comes out.

import { LIMIT } from '../../contract/limit.ts';
import type { Artifact, ReleaseStatus } from '../../contract/resource.ts';
import {
  type HostMemory,
  type HostRelease,
  isBefore,
  isMadeAnew,
  isOver,
  joinEvents,
  type KnownHostRelease,
  laterOf,
  type RememberedFiles,
  relate,
} from './host-release.ts';
import { hasSameAssets, mergeAssets } from './merge-assets.ts';

/** Event that announces a release, or completes one. */
export type Announcement<Item> = {
  readonly host: HostRelease;
  readonly artifacts: readonly Item[];
  /** Whether it is an edit, which announces nothing by itself. */
  readonly isEdit: boolean;
  /** Whether a release that waits for its files has all of them. */
  readonly isComplete: (artifacts: readonly Item[]) => boolean;
};

/**
 * What a held release waits for before it is first published: its files, with which it publishes itself, or
 * somebody's hand.
 */
export type ReleaseHold = 'expecting' | 'by-hand';

/** Release that stands under the version of an event. */
export type StandingRelease<Item> = {
  /** Whether it came from a code host. */
  readonly isAnnounced: boolean;
  readonly offered: boolean;
  readonly status: ReleaseStatus;
  /** How it is held until it is first published; null from then on. */
  readonly hold: ReleaseHold | null;
  /** Whether it is kept from devices because its code host called it back, and nobody else did. */
  readonly isRetracted: boolean;
  readonly host: KnownHostRelease;
  readonly artifacts: readonly Item[];
};

/** Why a release is left as it is, where that is not because nothing differs. */
export type LeftAlone =
  | 'api'
  | 'rolled-back'
  | 'another'
  | 'earlier'
  | 'older'
  | 'over'
  | 'offered'
  | 'retracted';

/** An edit of what is not here: its files are remembered until their release is announced. */
type Remembering<Item> = { readonly step: 'remember'; readonly files: RememberedFiles<Item> };

/** What an announcement does on a channel that has no such version. */
export type FirstStep<Item> =
  | Remembering<Item>
  /** Its release was deleted or called back. */
  | { readonly step: 'refuse' }
  | {
      readonly step: 'create';
      readonly host: KnownHostRelease;
      readonly artifacts: readonly Item[];
    };

/** What an announcement does to the release that stands. */
export type NextStep<Item> =
  | Remembering<Item>
  | { readonly step: 'leave'; readonly host: KnownHostRelease; readonly left?: LeftAlone }
  | ({ readonly step: 'change' } & ChangedRelease<Item>);

/** What changes of a release. */
export type ChangedRelease<Item> = Pick<
  StandingRelease<Item>,
  'status' | 'isRetracted' | 'host' | 'artifacts'
> & {
  /** Whether a later release of the code host took the place of the one before it. */
  readonly isMadeAnew: boolean;
};

type Item = Pick<Artifact, 'url'>;

/** Decides what an announcement does where the channel has no such version. */
export function takeFirst<Asset extends Item>(
  memory: HostMemory<Asset> | undefined,
  announcement: Announcement<Asset>,
): FirstStep<Asset> {
  if (isOver(announcement.host, memory)) return { step: 'refuse' };
  if (announcement.isEdit) return remember(announcement, memory);
  return { step: 'create', ...whole(announcement, memory) };
}

/** Decides what an announcement does to the release that stands. */
export function takeNext<Asset extends Item>(
  standing: StandingRelease<Asset>,
  memory: HostMemory<Asset> | undefined,
  announcement: Announcement<Asset>,
): NextStep<Asset> {
  const { host, isEdit } = announcement;
  const leave = (left: LeftAlone) => ({ step: 'leave', host: standing.host, left }) as const;
  if (!standing.isAnnounced) return leave('api');
  if (standing.status === 'rolled_back') return leave('rolled-back');
  const relation = relate(standing.host, host);
  if (relation === 'another') return leave('another');
  if (isOver(host, memory)) {
    return leave(standing.host.id === host.id && isKept(standing) ? 'retracted' : 'over');
  }
  if (relation === 'earlier') return leave('earlier');
  // What was unpublished and is published anew is still called back; what was deleted and made anew is not.
  const isRenewed = standing.isRetracted ? isMadeAnew(host, memory) : relation === 'renewed';
  if (relation !== 'later' && !isRenewed) return takeSame(standing, announcement);
  return isEdit ? remember(announcement, memory) : takeLater(standing, announcement, memory);
}

/** Takes another event about the release that stands. */
function takeSame<Asset extends Item>(
  standing: StandingRelease<Asset>,
  { host: event, artifacts, isComplete }: Announcement<Asset>,
): NextStep<Asset> {
  if (isBefore(event.changedAt, standing.host.changedAt)) {
    return { step: 'leave', host: standing.host, left: 'older' };
  }
  const host = joinEvents(standing.host, event);
  const replaces = !isBefore(event.filesTo, standing.host.filesTo);
  const all = mergeAssets(standing.artifacts, artifacts, replaces);
  if (all === undefined) {
    return { step: 'leave', host, ...(isKept(standing) ? { left: 'retracted' } : {}) };
  }
  if (standing.offered) return { step: 'leave', host, left: 'offered' };
  return change(standing, { host, artifacts: all, isMadeAnew: false }, isComplete);
}

/** Takes a release that was made anew, whose files replace those of the one before it. */
function takeLater<Asset extends Item>(
  standing: StandingRelease<Asset>,
  announcement: Announcement<Asset>,
  memory: HostMemory<Asset> | undefined,
): NextStep<Asset> {
  const { host, artifacts } = whole(announcement, memory);
  const isSame = hasSameAssets(standing.artifacts, artifacts);
  if (standing.offered && !isSame) return { step: 'leave', host: standing.host, left: 'offered' };
  const all = isSame ? standing.artifacts : artifacts;
  return change(standing, { host, artifacts: all, isMadeAnew: true }, announcement.isComplete);
}

function change<Asset>(
  { status, hold, isRetracted }: StandingRelease<Asset>,
  changed: Pick<ChangedRelease<Asset>, 'host' | 'artifacts' | 'isMadeAnew'>,
  isComplete: Announcement<Asset>['isComplete'],
): NextStep<Asset> {
  const artifacts = changed.artifacts.slice(0, LIMIT.artifactCountMax);
  const isKept = isRetracted && !changed.isMadeAnew;
  const isReady = hold === 'expecting' ? isComplete(artifacts) : hold === null && isRetracted;
  const isPublished = status === 'paused' && isReady && !isKept;
  const after = isPublished ? 'published' : status;
  return { step: 'change', ...changed, artifacts, status: after, isRetracted: isKept };
}

/** Returns what an event tells, with what edits have told before it. */
function whole<Asset extends Item>(
  { host, artifacts }: Announcement<Asset>,
  memory: HostMemory<Asset> | undefined,
): { readonly host: KnownHostRelease; readonly artifacts: readonly Asset[] } {
  const files = memory?.files;
  if (!files || isBefore(files.changedAt, host.changedAt)) return { host, artifacts };
  const isLater =
    isBefore(host.changedAt, files.changedAt) || isBefore(host.filesTo, files.filesTo);
  const all = mergeAssets(artifacts, files.artifacts, isLater) ?? artifacts;
  return {
    host: {
      ...host,
      changedAt: laterOf(host.changedAt, files.changedAt),
      filesTo: laterOf(host.filesTo, files.filesTo),
    },
    artifacts: all.slice(0, LIMIT.artifactCountMax),
  };
}

/** Remembers the files of an edit, unless a later one is remembered. */
function remember<Asset extends Item>(
  { host: { changedAt, filesTo }, artifacts }: Announcement<Asset>,
  memory: HostMemory<Asset> | undefined,
): Remembering<Asset> {
  const before = memory?.files;
  const isOlder =
    before && (isBefore(changedAt, before.changedAt) || isBefore(filesTo, before.filesTo));
  return { step: 'remember', files: isOlder ? before : { changedAt, filesTo, artifacts } };
}

/** Whether the retraction is what keeps a release from devices. */
function isKept({ status, isRetracted }: StandingRelease<unknown>): boolean {
  return isRetracted && status === 'paused';
}
