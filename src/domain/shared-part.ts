// What the check-ins of many devices share. A fleet says the same few things over and over: whatever does not
// differ between devices that ask for the same is kept once, in two parts, since versions are many and all
// else comes in a handful of combinations.

import type { CheckIn } from './check-in.ts';
import { tagText } from './tag-text.ts';

/** All that a check-in says besides its version, who made it, when, and with which labels. */
export type CheckInOrigin = Pick<
  CheckIn,
  'appId' | 'channel' | 'platform' | 'arch' | 'source' | 'offeredReleaseId'
>;

/** A part; remembers its place in the pack that is being made. */
export class SharedPart<Value> {
  readonly value: Value;
  pack = 0;
  place = 0;
  /** As whoever sends packs writes it; empty before the first time. Kept, since packs repeat each other. */
  written = '';

  constructor(value: Value) {
    this.value = value;
  }
}

/**
 * A place for each of so many hashes, a power of two, where the version that came last is kept. Versions come
 * from strangers: a flood of them costs no more than this, and who has a part keeps it.
 */
const VERSION_PLACES = 2 ** 11;
const versions: (SharedPart<string | undefined> | undefined)[] = new Array(VERSION_PLACES);

/** A version as check-ins report it. */
export function sharedVersion(version: string | undefined): SharedPart<string | undefined> {
  const place = tagText(version ?? '') & (VERSION_PLACES - 1);
  const known = versions[place];
  if (known !== undefined && known.value === version) return known;
  const part = new SharedPart(version);
  versions[place] = part;
  return part;
}

/** Those made last, in a ring: plans for many versions have the origin of others. */
const ORIGINS_MAX = 64;
const origins: SharedPart<CheckInOrigin>[] = [];
let originsMade = 0;

/** An origin, for whoever has many check-ins of it; takes no more of a check-in than that. */
export function sharedOrigin(origin: CheckInOrigin): SharedPart<CheckInOrigin> {
  const known = origins.find(({ value }) => isSameOrigin(value, origin));
  if (known !== undefined) return known;
  const { appId, channel, platform, arch, source, offeredReleaseId } = origin;
  const part = new SharedPart({ appId, channel, platform, arch, source, offeredReleaseId });
  origins[originsMade % ORIGINS_MAX] = part;
  originsMade += 1;
  return part;
}

function isSameOrigin(left: CheckInOrigin, right: CheckInOrigin): boolean {
  return (
    left.arch === right.arch &&
    left.platform === right.platform &&
    left.offeredReleaseId === right.offeredReleaseId &&
    left.channel === right.channel &&
    left.appId === right.appId &&
    left.source === right.source
  );
}
