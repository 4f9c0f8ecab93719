// Standing of a channel's releases: to which devices each is offered now. It asks the decision itself, for
// one device of each kind that the catalog tells apart: platform, architecture, kind of installation, and
// version.

import type {
  ChannelStanding,
  ReleaseStanding,
  ServedRelease,
  StandingState,
  StatusChange,
} from '../../contract/standing.ts';
import { ANY_KIND } from './artifact/artifact-format.ts';
import { foldArch, NO_ARCH, UNIVERSAL } from './artifact/fold-arch.ts';
import { type Catalog, type CompiledRelease, candidatesFor } from './catalog.ts';
import { reachedBy } from './decide.ts';
import { planUpdate } from './plan.ts';
import { audienceOf } from './rule/requirement.ts';
import { isTargeted } from './targeting.ts';
import { compareVersions, parseVersion, type Version } from './version.ts';

/** Devices that differ only in their versions, as far as the catalog can tell. */
type Place = {
  readonly platform: string;
  /** `UNIVERSAL` stands for every arch that no artifact names. */
  readonly arch: string;
  readonly kind: string;
};

/** What becomes of a release at the places that it has a file for. */
type Reach = {
  /** Places where devices are offered it. */
  readonly offered: Set<Place>;
  /** Places where all devices are offered a higher release instead, with that release. */
  readonly hidden: Map<Place, CompiledRelease>;
  /** Rolled-back versions whose devices are offered it as a downgrade. */
  readonly wayDownFor: Set<string>;
};

/** Standings of the releases of a channel and of the one that it follows, by release id. */
export type Standings = {
  readonly releases: ReadonlyMap<string, ReleaseStanding>;
  readonly channel: ChannelStanding;
};

/** Returns the standings of a small catalog at once. */
export function standingsIn(
  catalog: Catalog,
  changes?: ReadonlyMap<string, StatusChange>,
): Standings {
  const steps = standingSteps(catalog, changes);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/**
 * Finds the standings in steps of some milliseconds, so that the caller can let checks run between them: a
 * channel of 10,000 releases takes seconds. `changes` has the last change of status by release id, where it
 * is known.
 */
export function* standingSteps(
  catalog: Catalog,
  changes: ReadonlyMap<string, StatusChange> = new Map(),
): Generator<undefined, Standings> {
  const places = placesIn(catalog);
  const reaches = yield* reachesIn(catalog, places);
  const releases = new Map<string, ReleaseStanding>();
  const served: (ServedRelease & { readonly isWhole: boolean })[] = [];
  for (const release of catalog.byCanonical.values()) {
    const { source } = release;
    const standing = standingOf(release, reaches.get(release), changes.get(source.id) ?? null);
    releases.set(source.id, standing);
    if (standing.state !== 'serving' && standing.state !== 'rolling out') continue;
    const offered = [...(reaches.get(release)?.offered ?? [])];
    served.push({
      version: source.version,
      channel: channelOf(catalog, release),
      rolloutPct: source.rolloutPct,
      on: namesOf(offered, places),
      isTargeted: isTargeted(source.targets),
      isWhole: standing.state === 'serving',
    });
  }
  const listed = (isWhole: boolean) =>
    served.filter((each) => each.isWhole === isWhole).map(({ isWhole: _, ...each }) => each);
  return { releases, channel: { serving: listed(true), rolling: listed(false) } };
}

function channelOf({ snapshot }: Catalog, { source }: CompiledRelease): string {
  return source.followed ? (snapshot.follows ?? snapshot.channel) : snapshot.channel;
}

function standingOf(
  release: CompiledRelease,
  reach: Reach | undefined,
  change: StatusChange | null,
): ReleaseStanding {
  const { status } = release.source;
  const offered = [...(reach?.offered ?? [])];
  const hidden = [...(reach?.hidden ?? [])].filter(([place]) => !reach?.offered.has(place));
  const isOffered = offered.length > 0;
  const isAlsoHidden = isOffered && hidden.length > 0;
  const all = [...offered, ...hidden.map(([place]) => place)];
  return {
    state: stateOf(release, isOffered, hidden.length > 0, change),
    on: isAlsoHidden ? namesOf(offered, all) : [],
    supersededBy: highestOf(hidden.map(([, by]) => by)),
    wayDownFor: isOffered ? [] : [...(reach?.wayDownFor ?? [])],
    change: status === 'published' ? null : change,
  };
}

function stateOf(
  { source, artifacts }: CompiledRelease,
  isOffered: boolean,
  isHidden: boolean,
  change: StatusChange | null,
): StandingState {
  switch (source.status) {
    case 'paused':
      return change?.by.startsWith('plan:') ? 'stopped by its guard' : 'paused';
    case 'deprecated':
      return 'deprecated';
    case 'rolled_back':
      return 'rolled back';
    case 'published':
      if (artifacts.size === 0) return 'without files';
      if (isOffered) return source.rolloutPct < 100 ? 'rolling out' : 'serving';
      return isHidden && source.rolloutPct > 0 ? 'superseded' : 'for nobody yet';
  }
}

function highestOf(releases: readonly CompiledRelease[]): string | null {
  const [highest] = releases.toSorted((one, other) => compareVersions(other.version, one.version));
  return highest?.source.version ?? null;
}

function* reachesIn(
  catalog: Catalog,
  places: readonly Place[],
): Generator<undefined, Map<CompiledRelease, Reach>> {
  const reaches = new Map<CompiledRelease, Reach>();
  const versions = versionsIn(catalog);
  for (const place of places) {
    const { platform, arch, kind } = place;
    const mustBeSigned = catalog.snapshot.requireSignature;
    const list = candidatesFor(catalog, platform, arch, { kind, mustBeSigned });
    /** Indexes of the releases not yet found to be hidden at this place. */
    let shown = [...list.keys()];
    for (const version of versions) {
      const plan = planUpdate(catalog, { version, platform, arch }, list);
      const reached = [...reachedBy(plan)];
      for (const { candidate } of reached) {
        const reach = reachOf(reaches, candidate.release);
        if (plan.allowDowngrade) reach.wayDownFor.add(version.canonical);
        else reach.offered.add(place);
      }
      const last = reached.at(-1);
      if (!plan.allowDowngrade && last?.audience === 'all') {
        const hiddenFrom = list.indexOf(last.candidate) + 1;
        shown = shown.filter((index) => {
          const release = list[index]?.release;
          if (release === undefined || index < hiddenFrom || index >= plan.to) return true;
          if (audienceOf(release.requirements, plan.fields) === 'none') return true;
          reachOf(reaches, release).hidden.set(place, last.candidate.release);
          return false;
        });
      }
      yield;
    }
  }
  return reaches;
}

function reachOf(reaches: Map<CompiledRelease, Reach>, release: CompiledRelease): Reach {
  const reach = reaches.get(release) ?? {
    offered: new Set(),
    hidden: new Map(),
    wayDownFor: new Set(),
  };
  reaches.set(release, reach);
  return reach;
}

/** Returns the places that published releases have files for. */
function placesIn(catalog: Catalog): readonly Place[] {
  const wanted = targetedArches(catalog);
  return [...catalog.supportByPlatform].flatMap(([platform, { arches, kinds }]) => {
    const named = new Set([...arches].filter((arch) => arch !== UNIVERSAL && arch !== NO_ARCH));
    const isOpen = named.size < arches.size;
    if (isOpen) for (const arch of wanted) named.add(arch);
    return [...named, ...(isOpen ? [UNIVERSAL] : [])].flatMap((arch) =>
      [ANY_KIND, ...kinds].map((kind) => ({ platform, arch, kind })),
    );
  });
}

/** Returns the arches that conditions name. */
function targetedArches({ published }: Catalog): readonly string[] {
  return published.flatMap(({ source }) =>
    (source.targets?.matchExpressions ?? [])
      .filter(({ key }) => key === '$arch')
      .flatMap(({ values }) => values.map((value) => foldArch(value, ''))),
  );
}

const LOWEST = '0.0.0-0';
/** Maximum number of versions; a channel in use has a handful, and each costs a decision at each place. */
const VERSIONS_MAX = 200;

/**
 * Returns a version for each group of devices that decisions tell apart: below every release, at and just
 * above each version that conditions name, and each rolled-back one. Of more than `VERSIONS_MAX`, those that
 * the highest releases name count.
 */
function versionsIn({ published, byCanonical }: Catalog): readonly Version[] {
  const named = published.flatMap(({ requirements }) =>
    requirements.flatMap(({ condition }) => (condition.on === 'fields' ? condition.versions : [])),
  );
  const rolledBack = [...byCanonical.values()].filter(
    ({ source }) => source.status === 'rolled_back',
  );
  const texts = new Set([
    LOWEST,
    ...rolledBack.slice(0, VERSIONS_MAX / 2).map(({ version }) => version.canonical),
    ...named.flatMap((version) => [version.canonical, textAbove(version)]),
  ]);
  return [...texts]
    .slice(0, VERSIONS_MAX)
    .map(parseVersion)
    .filter((version) => version !== undefined);
}

/** Returns a version above this one, with hardly any version between the two. */
function textAbove({ canonical, parts, prerelease, build }: Version): string {
  if (prerelease.length > 0 || build.length > 0) return `${canonical}.0`;
  const [major, minor, patch, revision] = parts;
  return `${major}.${minor}.${patch}.${BigInt(revision) + 1n}`;
}

/** Names these places among `all`: [] if they are all; by platform alone where that is unambiguous. */
function namesOf(places: readonly Place[], all: readonly Place[]): readonly string[] {
  const named = (rest: readonly Place[], nameOf: (place: Place) => string): readonly string[] => {
    const others = new Set(all.filter((place) => !places.includes(place)).map(nameOf));
    return [...new Set(rest.map(nameOf))].filter((name) => !others.has(name));
  };
  if (all.every((place) => places.includes(place))) return [];
  const platforms = named(places, ({ platform }) => platform);
  const left = places.filter(({ platform }) => !platforms.includes(platform));
  const arches = named(left, archName);
  const kinds = left
    .filter((place) => !arches.includes(archName(place)) && place.kind !== ANY_KIND)
    .map((place) => `${archName(place)} (${place.kind})`);
  return [...platforms, ...arches, ...new Set(kinds)].sort();
}

function archName({ platform, arch }: Place): string {
  return arch === UNIVERSAL ? `${platform} (other)` : `${platform}/${arch}`;
}
