// Decides how an announcement by a code host changes the release under its version on a channel. The ledger
// reads the known state under the channel's lock and stores the result.

import { LIMIT } from '../../../contract/limit.ts';
import type { Artifact, ReleaseStatus } from '../../../contract/resource.ts';
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

/** Event that announces a release, or changes the files or notes of one. */
export type Announcement<Item> = {
  readonly host: HostRelease;
  readonly notes: string;
  readonly artifacts: readonly Item[];
  /** Whether it is an edit, which does not announce a release by itself. */
  readonly isEdit: boolean;
  /** Returns whether a release that waits for its files has all of them. */
  readonly isComplete: (artifacts: readonly Item[]) => boolean;
};

/** What a release waits for before it is first published: its files, which then publish it, or a person. */
export type ReleaseHold = 'expecting' | 'by-hand';

/** Release of the channel that has the version of the event. */
export type StandingRelease<Item> = {
  /** Whether it came from a code host. */
  readonly isAnnounced: boolean;
  readonly offered: boolean;
  readonly status: ReleaseStatus;
  /** What it waits for until it is first published; null from then on. */
  readonly hold: ReleaseHold | null;
  /** Whether the code host retracted it, and nothing else keeps it from devices. */
  readonly isRetracted: boolean;
  readonly host: KnownHostRelease;
  readonly notes: string;
  readonly artifacts: readonly Item[];
};

/** Why a release is left unchanged although something differs. */
export type LeftAlone =
  | 'api'
  | 'rolled-back'
  | 'another'
  | 'earlier'
  | 'older'
  | 'over'
  | 'offered'
  | 'approved'
  | 'retracted';

/** An edit of a release that is not here: its content is stored until the release is announced. */
type Remembering<Item> = { readonly step: 'remember'; readonly files: RememberedFiles<Item> };

/** Effect of an announcement on a channel that has no release of its version. */
export type FirstStep<Item> =
  | Remembering<Item>
  /** The code host deleted or retracted its release. */
  | { readonly step: 'refuse' }
  | {
      readonly step: 'create';
      readonly host: KnownHostRelease;
      readonly notes: string;
      readonly artifacts: readonly Item[];
    };

/** Effect of an announcement on the standing release. */
export type NextStep<Item> =
  | Remembering<Item>
  | { readonly step: 'leave'; readonly host: KnownHostRelease; readonly left?: LeftAlone }
  | ({ readonly step: 'change' } & ChangedRelease<Item>);

export type ChangedRelease<Item> = Pick<
  StandingRelease<Item>,
  'status' | 'isRetracted' | 'host' | 'notes' | 'artifacts'
> & {
  readonly hasNewFiles: boolean;
  readonly hasNewNotes: boolean;
  /** Whether a later release of the code host replaces the one before it. */
  readonly isMadeAnew: boolean;
};

type Item = Pick<Artifact, 'url'>;

/** Decides the effect of an announcement on a channel that has no release of its version. */
export function takeFirst<Asset extends Item>(
  memory: HostMemory<Asset> | undefined,
  announcement: Announcement<Asset>,
): FirstStep<Asset> {
  if (isOver(announcement.host, memory)) return { step: 'refuse' };
  if (announcement.isEdit) return remember(announcement, memory);
  return { step: 'create', ...whole(announcement, memory) };
}

/** Decides the effect of an announcement on the standing release. */
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
  // A release unpublished and published again stays retracted; one deleted and created again does not.
  const isRenewed = standing.isRetracted ? isMadeAnew(host, memory) : relation === 'renewed';
  if (relation !== 'later' && !isRenewed) return takeSame(standing, announcement);
  return isEdit ? remember(announcement, memory) : takeLater(standing, announcement, memory);
}

/** Decides the effect of another event about the standing release. */
function takeSame<Asset extends Item>(
  standing: StandingRelease<Asset>,
  { host: event, notes, artifacts, isComplete }: Announcement<Asset>,
): NextStep<Asset> {
  if (isBefore(event.changedAt, standing.host.changedAt)) {
    return { step: 'leave', host: standing.host, left: 'older' };
  }
  const host = joinEvents(standing.host, event);
  const replaces = !isBefore(event.filesTo, standing.host.filesTo);
  const all = mergeAssets(standing.artifacts, artifacts, replaces);
  const content = {
    artifacts: all ?? standing.artifacts,
    hasNewFiles: all !== undefined,
    notes: replaces ? notes : standing.notes,
    hasNewNotes: replaces && notes !== standing.notes,
  };
  if (!content.hasNewFiles && !content.hasNewNotes) {
    return { step: 'leave', host, ...(isKept(standing) ? { left: 'retracted' } : {}) };
  }
  if (standing.offered) return { step: 'leave', host, left: 'offered' };
  return change(standing, { host, ...content, isMadeAnew: false }, isComplete);
}

/** Decides the effect of a release that was created again: its files and notes replace the previous ones. */
function takeLater<Asset extends Item>(
  standing: StandingRelease<Asset>,
  announcement: Announcement<Asset>,
  memory: HostMemory<Asset> | undefined,
): NextStep<Asset> {
  const { host, notes, artifacts } = whole(announcement, memory);
  const hasNewFiles = !hasSameAssets(standing.artifacts, artifacts);
  const { offered } = standing;
  if (offered && hasNewFiles) return { step: 'leave', host: standing.host, left: 'offered' };
  const content = {
    artifacts: hasNewFiles ? artifacts : standing.artifacts,
    hasNewFiles,
    notes: offered ? standing.notes : notes,
    hasNewNotes: !offered && notes !== standing.notes,
  };
  return change(standing, { host, ...content, isMadeAnew: true }, announcement.isComplete);
}

function change<Asset>(
  { status, hold, isRetracted }: StandingRelease<Asset>,
  changed: Omit<ChangedRelease<Asset>, 'status' | 'isRetracted'>,
  isComplete: Announcement<Asset>['isComplete'],
): NextStep<Asset> {
  const artifacts = changed.artifacts.slice(0, LIMIT.artifactCountMax);
  const isKept = isRetracted && !changed.isMadeAnew;
  const isReady = hold === 'expecting' ? isComplete(artifacts) : hold === null && isRetracted;
  const isPublished = status === 'paused' && isReady && !isKept;
  const after = isPublished ? 'published' : status;
  return { step: 'change', ...changed, artifacts, status: after, isRetracted: isKept };
}

/** Returns what an event reports, with the files and notes that edits reported before it. */
function whole<Asset extends Item>(
  { host, notes, artifacts }: Announcement<Asset>,
  memory: HostMemory<Asset> | undefined,
): Pick<StandingRelease<Asset>, 'host' | 'notes' | 'artifacts'> {
  const files = memory?.files;
  if (!files || isBefore(files.changedAt, host.changedAt)) return { host, notes, artifacts };
  const isLater =
    isBefore(host.changedAt, files.changedAt) || isBefore(host.filesTo, files.filesTo);
  const all = mergeAssets(artifacts, files.artifacts, isLater) ?? artifacts;
  return {
    host: {
      ...host,
      changedAt: laterOf(host.changedAt, files.changedAt),
      filesTo: laterOf(host.filesTo, files.filesTo),
    },
    notes: isLater ? (files.notes ?? notes) : notes,
    artifacts: all.slice(0, LIMIT.artifactCountMax),
  };
}

/** Stores the files and notes of an edit, unless a later edit is stored. */
function remember<Asset extends Item>(
  { host: { changedAt, filesTo }, notes, artifacts }: Announcement<Asset>,
  memory: HostMemory<Asset> | undefined,
): Remembering<Asset> {
  const before = memory?.files;
  const isOlder =
    before && (isBefore(changedAt, before.changedAt) || isBefore(filesTo, before.filesTo));
  return { step: 'remember', files: isOlder ? before : { changedAt, filesTo, notes, artifacts } };
}

/** Returns whether a release is paused only because of its retraction. */
function isKept({ status, isRetracted }: StandingRelease<unknown>): boolean {
  return isRetracted && status === 'paused';
}
