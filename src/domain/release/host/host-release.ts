// Releases of a code host, identified by their ids and times. One tag may have several in turn: stray drafts,
// and releases that are deleted and created again. Events arrive late, twice and in any order, so the rules
// compare the contents of events, never their order of arrival.
//
// GitHub never reuses a release id. Gitea and Forgejo reuse the deleted release's id for a release created
// again on the same tag; then the time of publication tells them apart. An older Gitea repeats that time too;
// then the files do, which are uploaded after the event of the deletion.
//
// Times are in milliseconds since 1970 by the code host's clock, unless noted; null if an event has none.

import type { WebhookProvider } from '../../../contract/choice.ts';

/** Identity of a code host's release, stored with the release here. */
export type KnownHostRelease = {
  /** Null for a release without stored identity. */
  readonly provider: WebhookProvider | null;
  readonly id: number | null;
  readonly tag: string | null;
  /** Time of the latest change that was applied here. */
  readonly changedAt: number | null;
  readonly publishedAt: number | null;
  /** Time when the last of its files was uploaded. */
  readonly filesTo: number | null;
};

/** Release as an event describes it. */
export type HostRelease = KnownHostRelease & {
  readonly provider: WebhookProvider;
  /** Time when the first of its files was uploaded. */
  readonly filesFrom: number | null;
};

/** What is stored about a code host's release, by its id, for some days. */
export type HostMemory<Item> = {
  /** Time, by the ledger's clock, of the latest event of its deletion; null if there was none. */
  readonly deletedAt: number | null;
  /** Time of publication of the deleted release. */
  readonly publishedAt: number | null;
  /** Time of the latest change that retracted it. */
  readonly retractedAt: number | null;
  /** Files and notes from an edit that came before the release. */
  readonly files: RememberedFiles<Item> | null;
};

export type RememberedFiles<Item> = Pick<KnownHostRelease, 'changedAt' | 'filesTo'> & {
  readonly artifacts: readonly Item[];
  /** Absent from what an earlier version of this service has stored. */
  readonly notes?: string;
};

/**
 * Relation of an event's release to the standing one: the same; the same, published again; an earlier or a
 * later one of its tag; or another one that may exist beside it.
 */
export type HostRelation = 'same' | 'renewed' | 'earlier' | 'later' | 'another';

/**
 * Compares ids, tags and publication. If either has no id, they count as the same, because they have the same
 * version. A tag has one release at a time, so a later one implies that the earlier one is gone.
 */
export function relate(standing: KnownHostRelease, event: HostRelease): HostRelation {
  if (standing.provider !== null && standing.provider !== event.provider) return 'another';
  if (standing.id === null || event.id === null) return 'same';
  const hasId = standing.id === event.id;
  if (!hasId && standing.tag !== event.tag) return 'another';
  if (isBefore(event.publishedAt, standing.publishedAt)) return 'earlier';
  if (isBefore(standing.publishedAt, event.publishedAt)) return hasId ? 'renewed' : 'later';
  if (hasId) return 'same';
  return event.id < standing.id ? 'earlier' : 'later';
}

/** Returns whether an event has no effect because its release was deleted or retracted since. */
export function isOver(event: HostRelease, memory: HostMemory<unknown> | undefined): boolean {
  if (memory === undefined) return false;
  if (memory.deletedAt !== null && !isMadeAnew(event, memory)) return true;
  return isBefore(event.changedAt, memory.retractedAt);
}

/** Returns whether an event's release has the id of a deleted one and was created after the deletion. */
export function isMadeAnew(event: HostRelease, memory: HostMemory<unknown> | undefined): boolean {
  if (memory === undefined || memory.deletedAt === null) return false;
  return (
    isBefore(memory.publishedAt, event.publishedAt) || isBefore(memory.deletedAt, event.filesFrom)
  );
}

/** Returns whether both times are known and the first is earlier. */
export function isBefore(one: number | null, other: number | null): boolean {
  return one !== null && other !== null && one < other;
}

/** Returns the later of two times; the known one if the other is null. */
export function laterOf(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.max(one, other);
}

/** Returns a release's identity after another event about it. */
export function joinEvents(known: KnownHostRelease, event: KnownHostRelease): KnownHostRelease {
  return {
    provider: event.provider ?? known.provider,
    id: event.id ?? known.id,
    tag: event.tag ?? known.tag,
    changedAt: laterOf(known.changedAt, event.changedAt),
    publishedAt: laterOf(known.publishedAt, event.publishedAt),
    filesTo: laterOf(known.filesTo, event.filesTo),
  };
}
