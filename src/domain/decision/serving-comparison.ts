// Compares two states of a channel over every device that there could be, for approvals of its settings
// (docs/contract.md 33.11): whether one may get another release than before, or newly have to update.
//
// Every updater lists the published releases, highest version first, without those that its clients cannot
// take; which those are depends on the release and on `requireSignature` alone. So if the releases after the
// change are the first ones of those before it, so are the candidates of each device: it is offered the same
// release as before, or none. That takes one pass over the releases. Comparing the decisions for each group
// of devices (by platform, version and labels) would rule out more changes, but takes a plan for each group.

import { ANY_KIND } from './artifact/artifact-format.ts';
import { NO_ARCH, UNIVERSAL } from './artifact/fold-arch.ts';
import { type Catalog, type CompiledRelease, candidatesFor } from './catalog.ts';
import { planUpdate } from './plan.ts';
import { compareVersions, type Version } from './version.ts';

/** Maximum number of releases that are compared in all lists; beyond it, nothing is ruled out. */
const COMPARED_MAX = 100_000;

/**
 * Returns whether a device could get another release after the change than before, or newly have to update;
 * also true if that cannot be ruled out. Releases with the same edition are the same.
 */
export function mayReachFurther(before: Catalog, after: Catalog): boolean {
  return (
    mayRequireMore(before, after) ||
    mayTurnDevices(before, after) ||
    !isBeginningOf(servedIn(after), servedIn(before)) ||
    mayFitMore(before, after)
  );
}

/**
 * Returns whether a channel serves, or is about to serve, a release of its own that the channel `other` does
 * not serve. `planned` has the ids of releases with an open plan. Releases that `other` would hide behind its
 * own of the same version count too: they appear once those are withdrawn.
 */
export function servesBeside(
  other: Catalog,
  { compiled }: Catalog,
  planned: ReadonlySet<string>,
): boolean {
  const known = new Set(servedIn(other).map(({ source }) => source.id));
  return compiled.some((release) => {
    if (release === undefined || release.source.followed) return false;
    const { id } = release.source;
    return (isServed(release) || planned.has(id)) && !known.has(id);
  });
}

/** Returns whether a device could newly have to update: the minimum rose, or its version was deprecated. */
function mayRequireMore(before: Catalog, after: Catalog): boolean {
  const isHigher =
    after.minimum !== undefined &&
    (before.minimum === undefined || compareVersions(after.minimum, before.minimum) > 0);
  return (
    isHigher ||
    versionsOf(after, 'deprecated').some((version) => !termsOf(before, version).isRequired)
  );
}

/**
 * Returns whether devices could be offered another release because their version was rolled back (a lower
 * one), or is rolled back no longer (a higher one).
 */
function mayTurnDevices(before: Catalog, after: Catalog): boolean {
  const served = servedIn(after);
  const [highest, lowest] = [served[0], served.at(-1)];
  if (highest === undefined || lowest === undefined) return false;
  const isDown = (catalog: Catalog, version: Version) => termsOf(catalog, version).allowDowngrade;
  return (
    versionsOf(after, 'rolled_back').some(
      (version) => !isDown(before, version) && compareVersions(lowest.version, version) < 0,
    ) ||
    versionsOf(before, 'rolled_back').some(
      (version) => !isDown(after, version) && compareVersions(highest.version, version) > 0,
    )
  );
}

/**
 * Returns whether a device could be offered another release because artifacts need a signature in only one of
 * the two states: compares the lists of each platform, architecture and kind of installation.
 */
function mayFitMore(before: Catalog, after: Catalog): boolean {
  if (before.snapshot.requireSignature === after.snapshot.requireSignature) return false;
  const places = [...before.supportByPlatform].flatMap(([platform, { arches, kinds }]) =>
    [...arches, UNIVERSAL]
      // Devices that name no arch get the artifacts of `UNIVERSAL`, which stands for every other arch.
      .filter((arch) => arch !== NO_ARCH)
      .flatMap((arch) => [ANY_KIND, ...kinds].map((kind) => ({ platform, arch, kind }))),
  );
  if (places.length * before.published.length > COMPARED_MAX) return true;
  const listIn = (catalog: Catalog, { platform, arch, kind }: (typeof places)[number]) =>
    candidatesFor(catalog, platform, arch, {
      kind,
      mustBeSigned: catalog.snapshot.requireSignature,
    })
      .map(({ release }) => release)
      .filter(isServed);
  return places.some((place) => !isBeginningOf(listIn(after, place), listIn(before, place)));
}

function isBeginningOf(
  releases: readonly CompiledRelease[],
  all: readonly CompiledRelease[],
): boolean {
  return releases.every(({ source }, at) => source.edition === all[at]?.source.edition);
}

/** Returns the releases that a device could be offered, highest version first. */
function servedIn({ published }: Catalog): readonly CompiledRelease[] {
  return published.filter(isServed);
}

function isServed({ source }: CompiledRelease): boolean {
  return source.status === 'published' && source.rolloutPct > 0;
}

function versionsOf(
  { byCanonical }: Catalog,
  status: CompiledRelease['source']['status'],
): readonly Version[] {
  return [...byCanonical.values()]
    .filter(({ source }) => source.status === status)
    .map(({ version }) => version);
}

/** Returns how the decision treats devices that run a version. */
function termsOf(catalog: Catalog, version: Version) {
  return planUpdate(catalog, { version, platform: '', arch: NO_ARCH }, []);
}
