// Judge of the answers that devices get while stores and nodes fail. It knows what publishers were promised,
// and nothing of how the service works: a release, its status, its rollout and the labels of devices are
// facts with a span in which they took effect. An answer is right if some state that a node may still have
// gives it.

import { compareVersions, parseVersion } from '../../src/domain/decision/version.ts';
import type { Fact, Moment, Span } from './fact.ts';

export type ModelStatus = 'published' | 'paused' | 'absent';

export type ModelRelease = {
  readonly version: string;
  /** Value of the label `ring` that devices need; undefined for every device. */
  readonly ring: string | undefined;
  readonly status: Fact<ModelStatus>;
  /**
   * Whether the rollout is at 100 %; below that the release is for some devices, and the model does not say
   * which.
   */
  readonly isForAll: Fact<boolean>;
  /** Moment of the first answer that offered it; Infinity before. */
  offeredAt: Moment;
};

/** Answer to an update check. `version` is undefined for 204. */
export type Told = {
  readonly node: string;
  readonly device: string;
  readonly asked: Moment;
  readonly answered: Moment;
  readonly version: string | undefined;
};

/**
 * Longest time that a node may be behind under one fault; the contract allows 5 s, the rest is the tester's
 * own delay.
 */
export const BEHIND_MS_MAX = 6000;

/** Channel as its publishers and devices know it. */
export class ModelChannel {
  readonly releases = new Map<string, ModelRelease>();
  /** Label `ring` by device id. */
  readonly rings = new Map<string, Fact<string | undefined>>();

  /**
   * Returns why no state between `span.from` and `span.to` gives the answer; undefined when one does.
   * `mayHoldBack` says that a first offer could not be recorded in that time.
   */
  fault(told: Told, span: Span, mayHoldBack: boolean): string | undefined {
    const { version } = told;
    if (version !== undefined) {
      const release = this.releases.get(version);
      if (release === undefined) return `${version} was never published`;
      const fault = this.unofferable(release, told.device, span);
      if (fault !== undefined) return fault;
    }
    const missed = [...this.releases.values()].find(
      (release) =>
        isHigher(release.version, version) &&
        this.mustBeOffered(release, told.device, span) &&
        !(mayHoldBack && release.offeredAt > span.from),
    );
    return missed && `${missed.version} was held back, ${version ?? 'nothing'} was offered`;
  }

  private unofferable(release: ModelRelease, device: string, span: Span): string | undefined {
    const statuses = release.status.possible(span);
    if (!statuses.has('published')) {
      return `${release.version} was ${[...statuses].join(' or ')} all the time`;
    }
    if (release.ring === undefined || this.ringsOf(device, span).has(release.ring))
      return undefined;
    return `${release.version} is for the ring ${release.ring}, which the device never was in`;
  }

  /** Returns whether every state of the span offers the release to the device, if none above it does. */
  mustBeOffered(release: ModelRelease, device: string, span: Span): boolean {
    const { status, isForAll, ring } = release;
    if (!status.isSurely('published', span) || !isForAll.isSurely(true, span)) return false;
    if (ring === undefined) return true;
    const rings = this.ringsOf(device, span);
    return rings.size === 1 && rings.has(ring);
  }

  private ringsOf(device: string, span: Span): ReadonlySet<string | undefined> {
    return this.rings.get(device)?.possible(span) ?? new Set([undefined]);
  }
}

/**
 * Returns the moment since which a node surely was told of every change, for a check that was asked at
 * `asked`: the allowed delay before it, and before each span in which several faults at once kept it from
 * hearing.
 */
export function oldestState(asked: Moment, deafSpans: readonly Span[]): Moment {
  let oldest = asked - BEHIND_MS_MAX;
  const newestFirst = [...deafSpans].sort((a, b) => b.to - a.to);
  for (const { from, to } of newestFirst) {
    if (from < asked && to >= oldest) oldest = Math.min(oldest, from - BEHIND_MS_MAX);
  }
  return oldest;
}

/** Returns whether a version is higher than another one, or than none. */
export function isHigher(version: string, than: string | undefined): boolean {
  if (than === undefined) return true;
  const [a, b] = [parseVersion(version), parseVersion(than)];
  if (a === undefined || b === undefined) throw new Error(`not a version: ${version} or ${than}`);
  return compareVersions(a, b) > 0;
}
