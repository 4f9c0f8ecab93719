// What the check-ins of many devices share. A fleet says the same few things over and over: whatever differs
// between devices that ask for the same is kept once, in two parts, since versions are many and all else
// comes in a handful of combinations.

import type { CheckIn } from './check-in.ts';
import { tagText } from './tag-text.ts';

/** All that a check-in says besides who made it, when, and with which labels. */
export type CheckInKind = CheckInOrigin & Pick<CheckIn, 'version'>;

/** A kind without its version. */
export type CheckInOrigin = Pick<
  CheckIn,
  'appId' | 'channel' | 'platform' | 'arch' | 'source' | 'offeredReleaseId'
>;

/** A part of kinds; remembers its place in the pack that is being made. */
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

/** A kind, kept by whoever has many check-ins of it. */
export class SharedKind {
  readonly appId: string;
  readonly origin: SharedPart<CheckInOrigin>;
  readonly version: SharedPart<string | undefined>;

  constructor(kind: CheckInKind) {
    this.appId = kind.appId;
    this.origin = sharedOrigin(kind);
    this.version = sharedVersion(kind.version);
  }
}

/**
 * A place for each of so many hashes, a power of two, where the version that came last is kept. Versions come
 * from strangers: a flood of them costs no more than this, and who has a part keeps it.
 */
const VERSION_PLACES = 2 ** 11;
const versions: (SharedPart<string | undefined> | undefined)[] = new Array(VERSION_PLACES);

function sharedVersion(version: string | undefined): SharedPart<string | undefined> {
  const place = tagText(version ?? '') & (VERSION_PLACES - 1);
  const known = versions[place];
  if (known !== undefined && known.value === version) return known;
  const part = new SharedPart(version);
  versions[place] = part;
  return part;
}

/** Those made last, in a ring: versions that are never seen again have the origin of others. */
const ORIGINS_MAX = 16;
const origins: SharedPart<CheckInOrigin>[] = [];
let originsMade = 0;

function sharedOrigin(kind: CheckInKind): SharedPart<CheckInOrigin> {
  const known = origins.find(({ value }) => isSameOrigin(value, kind));
  if (known !== undefined) return known;
  const { appId, channel, platform, arch, source, offeredReleaseId } = kind;
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
