// Releases of a code host, told apart by their ids and times. A tag may stand for several of them one after
// another: stray drafts, and releases that are deleted and made anew. Events tell of them late, twice and in
// any order, so that the rules here compare what events say, and not when they arrived.
//
// GitHub gives a release an id of its own for good. Gitea and Forgejo give one that is made anew on a tag
// that was kept the id of the deleted one; then the time of publication tells them apart, and where an older
// Gitea repeats that as well, the files do: they were uploaded after the deletion was heard of.
//
// All times are milliseconds since 1970, of the code host's clock where nothing else is said; null where an
// event tells none.

import type { WebhookProvider } from '../../contract/webhook-provider.ts';

/** What is kept of a code host's release with the release that it became here. */
export type KnownHostRelease = {
  /** Null for a release that came before these things were kept. */
  readonly provider: WebhookProvider | null;
  readonly id: number | null;
  readonly tag: string | null;
  /** Time of the latest change that was taken. */
  readonly changedAt: number | null;
  readonly publishedAt: number | null;
  /** Time at which the last of its files was uploaded. */
  readonly filesTo: number | null;
};

/** What an event tells of the release that it is about. */
export type HostRelease = KnownHostRelease & {
  readonly provider: WebhookProvider;
  /** Time at which the first of its files was uploaded. */
  readonly filesFrom: number | null;
};

/** What is remembered of a release of a code host, by its id, for some days. */
export type HostMemory<Item> = {
  /** Time, by the ledger's clock, at which its deletion was heard of last; null when it was not. */
  readonly deletedAt: number | null;
  /** Time of publication of what was deleted. */
  readonly publishedAt: number | null;
  /** Time of its latest change by which it was retracted. */
  readonly retractedAt: number | null;
  /** What an edit told of its files before there was a release that could take them. */
  readonly files: RememberedFiles<Item> | null;
};

export type RememberedFiles<Item> = Pick<KnownHostRelease, 'changedAt' | 'filesTo'> & {
  readonly artifacts: readonly Item[];
};

/**
 * How the release of an event is related to the one that stands under its version here: the same one, the
 * same one published anew, an earlier or a later one of its tag, or another one that may stand beside it.
 */
export type HostRelation = 'same' | 'renewed' | 'earlier' | 'later' | 'another';

/**
 * Tells the relation by id, tag and publication. Where either has no id, the version is all there is: the
 * same. Of one tag there is one release at a time, so that the later one says that the earlier one is gone.
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

/**
 * Whether an event announces what has been deleted or called back since, and so announces nothing any more.
 */
export function isOver(event: HostRelease, memory: HostMemory<unknown> | undefined): boolean {
  if (memory === undefined) return false;
  if (memory.deletedAt !== null && !isMadeAnew(event, memory)) return true;
  return isBefore(event.changedAt, memory.retractedAt);
}

/** Whether an event tells of a release that has the id of a deleted one and was made after the deletion. */
export function isMadeAnew(event: HostRelease, memory: HostMemory<unknown> | undefined): boolean {
  if (memory === undefined || memory.deletedAt === null) return false;
  return (
    isBefore(memory.publishedAt, event.publishedAt) || isBefore(memory.deletedAt, event.filesFrom)
  );
}

/** Whether both times are known, and the first is earlier. */
export function isBefore(one: number | null, other: number | null): boolean {
  return one !== null && other !== null && one < other;
}

/** Returns the later of two times. */
export function laterOf(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.max(one, other);
}

/** Returns what is known of a release after another event about the same one. */
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
