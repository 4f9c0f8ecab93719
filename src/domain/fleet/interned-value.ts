// Values that many check-ins share, each kept once. The devices of a fleet report the same few combinations
// of app, channel, platform, arch and offer, and a larger number of versions, so the two are interned
// separately.

import { secondHash } from '../decision/second-hash.ts';
import type { CheckIn } from './check-in.ts';

/** Fields of a check-in apart from its version, its device, its time and its labels. */
export type CheckInContext = Pick<
  CheckIn,
  'appId' | 'channel' | 'platform' | 'arch' | 'source' | 'client' | 'bundle' | 'offeredReleaseId'
>;

/** A shared value and what packers and serialisers remember about it. */
export class InternedValue<Value> {
  readonly value: Value;
  /**
   * Number of the pack in which `index` is valid; 0 before the value is packed for the first time. Owner:
   * `CheckInPacker`.
   */
  packNumber = 0;
  /** Position of the value in that pack's list of contexts or versions. Owner: `CheckInPacker`. */
  index = 0;
  /**
   * Cached serialised form, '' until first serialised: saves one JSON.stringify per pack. Owner: the engine
   * that sends packs.
   */
  serialized = '';

  constructor(value: Value) {
    this.value = value;
  }
}

/**
 * Number of hash slots for interned versions, a power of two. Each slot holds the version that was interned
 * last with that hash. Versions come from strangers, so a flood of them costs no more memory than this table;
 * a caller that holds an evicted value can go on using it.
 */
const VERSION_SLOTS = 2 ** 11;
const versions: (InternedValue<string | undefined> | undefined)[] = new Array(VERSION_SLOTS);

/** Returns the interned form of a version as check-ins report it; undefined is the unknown version. */
export function internVersion(version: string | undefined): InternedValue<string | undefined> {
  const slot = secondHash(version ?? '') & (VERSION_SLOTS - 1);
  const known = versions[slot];
  if (known !== undefined && known.value === version) return known;
  const interned = new InternedValue(version);
  versions[slot] = interned;
  return interned;
}

/** Maximum number of contexts kept in the ring below. Plans for many versions share one context. */
const CONTEXTS_MAX = 64;
const contexts: InternedValue<CheckInContext>[] = [];
let contextsMade = 0;

/** Returns the interned form of a context. Fields of `context` beyond `CheckInContext` are dropped. */
export function internContext(context: CheckInContext): InternedValue<CheckInContext> {
  const known = contexts.find(({ value }) => isSameContext(value, context));
  if (known !== undefined) return known;
  const { appId, channel, platform, arch, source, client, bundle, offeredReleaseId } = context;
  const where = { appId, channel, platform, arch };
  const interned = new InternedValue({ ...where, source, client, bundle, offeredReleaseId });
  contexts[contextsMade % CONTEXTS_MAX] = interned;
  contextsMade += 1;
  return interned;
}

function isSameContext(left: CheckInContext, right: CheckInContext): boolean {
  return (
    left.arch === right.arch &&
    left.platform === right.platform &&
    left.offeredReleaseId === right.offeredReleaseId &&
    left.channel === right.channel &&
    left.appId === right.appId &&
    left.source === right.source &&
    left.client === right.client &&
    left.bundle === right.bundle
  );
}
