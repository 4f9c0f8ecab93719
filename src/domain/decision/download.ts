// The file that a person downloads: from the highest release that every device may have, in the format that
// people install by hand. A download is not an offer and is not recorded.

import type { Artifact } from '../../contract/resource.ts';
import { foldPlatform } from './artifact/artifact.ts';
import { artifactFormat, isDelta } from './artifact/artifact-format.ts';
import { foldArch, NO_ARCH, UNIVERSAL } from './artifact/fold-arch.ts';
import type { Catalog, CompiledRelease } from './catalog.ts';
import { isTargeted } from './targeting.ts';

export type DownloadQuery = {
  /** Folded platform. */
  readonly platform: string;
  /** Undefined if the person does not say. */
  readonly arch: string | undefined;
  /** Only format that is accepted; undefined accepts every format. */
  readonly format: string | undefined;
};

const EVERYBODY_PCT = 100;
/** Arch that is assumed for people who name none. */
const COMMON_ARCH = 'x86_64';

/** Formats that people install, best first; any other format comes after them. */
const FOR_PEOPLE: ReadonlyMap<string, readonly string[]> = new Map([
  ['darwin', ['dmg', 'pkg', 'zip']],
  ['windows', ['nsis', 'exe', 'msi']],
  ['linux', ['appimage', 'deb', 'rpm']],
]);

/**
 * Returns the URL to download; undefined if no release of the channel itself at 100 % without targeting has a
 * fitting artifact. Releases of a followed channel do not count.
 */
export function downloadFor(catalog: Catalog, query: DownloadQuery): string | undefined {
  // The catalog lists them highest first.
  for (const release of catalog.published) {
    if (release.source.followed || !isForEverybody(release)) continue;
    const best = bestOf(release.source.artifacts, query);
    if (best !== undefined) return best;
  }
  return undefined;
}

/** File that a person can ask for; `arch` is undefined if the file names none. */
export type Download = DownloadQuery;

/** Maximum number of listed files. */
const DOWNLOADS_MAX = 100;

/** Returns what people can download: for each platform, the files of the highest release that has any. */
export function downloadsIn(catalog: Catalog): readonly Download[] {
  const found = new Map<string, Download>();
  const done = new Set<string>();
  for (const release of catalog.published) {
    if (release.source.followed || !isForEverybody(release)) continue;
    const artifacts = release.source.artifacts.filter(
      ({ platform, ...artifact }) => isFile(artifact) && !done.has(foldPlatform(platform)),
    );
    for (const artifact of artifacts) {
      const platform = foldPlatform(artifact.platform);
      const own = foldArch(artifact.arch, platform);
      const arch = own === NO_ARCH ? undefined : own;
      const download = { platform, arch, format: artifactFormat(artifact) };
      if (found.size < DOWNLOADS_MAX) found.set(JSON.stringify(download), download);
      done.add(platform);
    }
  }
  return [...found.values()];
}

function isForEverybody({ source: { rolloutPct, targets } }: CompiledRelease): boolean {
  return rolloutPct === EVERYBODY_PCT && !isTargeted(targets);
}

/** Returns whether an artifact is a whole file that a person can download. */
function isFile(artifact: Pick<Artifact, 'url' | 'format'>): boolean {
  return artifact.url !== undefined && !isDelta(artifact);
}

function bestOf(
  artifacts: readonly Artifact[],
  { platform, arch, format }: DownloadQuery,
): string | undefined {
  const order = FOR_PEOPLE.get(platform) ?? [];
  const ranked = artifacts.flatMap((artifact) => {
    const { url } = artifact;
    const own = artifactFormat(artifact);
    const place = archPlace(foldArch(artifact.arch, platform), arch);
    const isWanted = format === undefined || own === format;
    if (url === undefined || !isFile(artifact) || place === -1 || !isWanted) return [];
    if (foldPlatform(artifact.platform) !== platform) return [];
    return [{ url, place, rank: formatPlace(order, own) }];
  });
  ranked.sort((left, right) => left.place - right.place || left.rank - right.rank);
  return ranked[0]?.url;
}

/** Returns the rank of a format, lowest first: the listed ones, then others, then an unknown format. */
function formatPlace(order: readonly string[], format: string | undefined): number {
  const listed = format === undefined ? -1 : order.indexOf(format);
  if (listed !== -1) return listed;
  return format === undefined ? order.length + 1 : order.length;
}

/**
 * Returns the rank of an artifact's arch, lowest first; -1 if it does not run on the wanted arch. An artifact
 * that names no arch ranks after those for the wanted or the most common arch.
 */
function archPlace(own: string, wanted: string | undefined): number {
  if (wanted !== undefined) return [wanted, UNIVERSAL, NO_ARCH].indexOf(own);
  const order = [UNIVERSAL, COMMON_ARCH, NO_ARCH];
  const known = order.indexOf(own);
  return known === -1 ? order.length : known;
}
