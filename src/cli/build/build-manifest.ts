// Reads the manifests that build tools write beside the files of a build; each entry describes one file:
// electron-builder's `latest*.yml`, Squirrel's `RELEASES`, Velopack's `releases.*.json` and `assets.*.json`,
// Sparkle's `appcast.xml`, goreleaser's `artifacts.json`. Those of Squirrel, Velopack and Sparkle keep the
// entries of earlier versions.

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { parseUrl } from '../../contract/address.ts';
import type { Artifact } from '../../contract/resource.ts';
import { decodedFileName } from '../../domain/decision/artifact/artifact-format.ts';
import { parseVersion } from '../../domain/decision/version.ts';
import type { AssetTarget } from '../../domain/release/asset/classify-assets.ts';
import { isNameOfVersion, versionInPackageName } from '../../domain/release/asset/name-version.ts';
import { ServiceError } from '../call/service-client.ts';
import { readJson, readText } from '../call/text-file.ts';
import { dottedOf, readUpdateFile } from '../call/update-file.ts';
import type { BuildFile } from './build-files.ts';
import { readGoreleaserList } from './goreleaser-list.ts';

/** Description of one file in a manifest. */
export type ManifestEntry = Partial<Pick<Artifact, Told>> & {
  /** Name of the manifest. */
  readonly from: string;
  readonly name: string;
  /** Version of the file's release; undefined if it is the one to be published. */
  readonly other?: string;
  /** Why the file is no artifact, if the manifest says so. */
  readonly reason?: string;
  /** Devices that the file is for, if the manifest knows them better than the file's name. */
  readonly target?: AssetTarget;
  /** Percentage of the devices that the manifest offers the file to; undefined for all. */
  readonly staged?: string;
};

type Told = 'url' | 'size' | 'sha512' | 'sha256' | 'sha1' | 'platform' | 'arch' | MoreTold;
type MoreTold = 'minimumSystemVersion' | 'signature' | 'buildVersion';

type Entries = readonly Omit<ManifestEntry, 'from'>[];
/** Returns undefined if the content shows that the file is no manifest. */
type Reader = (file: BuildFile, version: string) => Entries | undefined | Promise<Entries>;

/** Manifests by the forms of their names. */
const READERS: readonly (readonly [RegExp, Reader])[] = [
  [/^(?:latest|beta|alpha)(?:-[a-z0-9-]+)?\.ya?ml$/i, ofUpdateFile],
  [/^[a-z]+(?:-(?:mac|linux(?:-[a-z0-9]+)?))?\.ya?ml$/i, ofChannelFile],
  [/^RELEASES(?:-[\w-]+)?$/i, ofSquirrel],
  [/^releases\.[\w.-]+\.json$/i, ofVelopack],
  [/^assets\.[\w.-]+\.json$/i, ofVelopackAssets],
  [/^appcast[\w.-]*\.xml$/i, ofAppcast],
  [/^artifacts\.json$/, ofGoreleaser],
];

/**
 * Reads a manifest for the release of a version; resolves with undefined for a file whose name is not that of
 * a manifest. Rejects with a `ServiceError` when it cannot be read, or describes only another version.
 */
export async function readManifest(
  file: BuildFile,
  version: string,
): Promise<readonly ManifestEntry[] | undefined> {
  const reader = READERS.find(([form]) => form.test(file.name))?.[1];
  if (reader === undefined) return undefined;
  const entries = await reader(file, version);
  return entries?.map((entry) => ({ ...entry, ...plainSums(entry), from: file.name }));
}

type Sums = Pick<ManifestEntry, 'sha512' | 'sha256' | 'sha1'>;

/** Returns the checksums of an entry in the form of `Content`: SHA-512 in base64, others in lower case. */
function plainSums({ sha512, sha256, sha1 }: Sums): Sums {
  const sum = sha512?.trim();
  const isHex = sum !== undefined && /^[0-9a-f]{128}$/i.test(sum);
  return defined({
    sha512: isHex ? Buffer.from(sum, 'hex').toString('base64') : sum,
    sha256: sha256?.trim().toLowerCase(),
    sha1: sha1?.trim().toLowerCase(),
  });
}

/** Whether two versions are the same, however each is spelled. */
function isSameVersion(one: string, other: string): boolean {
  return canonicalOf(one) === canonicalOf(other);
}

/** Squirrel and NuGet leave out the dots of a prerelease: `1.4.0-beta.2` is `1.4.0-beta2`. */
function canonicalOf(text: string): string {
  const canonical = parseVersion(text)?.canonical ?? text;
  return canonical.replace(/-[^+]*/, (prerelease) => prerelease.replaceAll('.', ''));
}

/** Returns the property `other` of an entry, unless its version is the one to be published. */
function otherPart(version: string | undefined, published: string): { readonly other?: string } {
  return version === undefined || isSameVersion(version, published) ? {} : { other: version };
}

/** Platforms and architectures of electron-builder's update files, by the end of their names. */
const UPDATE_FILE_TARGETS: Readonly<Record<string, Pick<ManifestEntry, 'platform' | 'arch'>>> = {
  '': { platform: 'windows' },
  mac: { platform: 'darwin' },
  linux: { platform: 'linux', arch: 'x86_64' },
  'linux-arm64': { platform: 'linux', arch: 'aarch64' },
  'linux-arm': { platform: 'linux', arch: 'armv7' },
  'linux-ia32': { platform: 'linux', arch: 'i686' },
};

function ofUpdateFile({ path, name }: BuildFile, published: string): Entries {
  const { version, entries, minimumSystemVersion, staged } = readUpdateFile(path);
  if (!isSameVersion(version, published)) {
    throw new ServiceError(`${name} is of version ${version}, not of ${published}`);
  }
  const [, end = ''] = /^[a-z]+-?(.*)\.ya?ml$/i.exec(name) ?? [];
  const target = UPDATE_FILE_TARGETS[end.toLowerCase()] ?? {};
  return entries.map((entry) => defined({ ...entry, ...target, minimumSystemVersion, staged }));
}

/** Reads the update file of a channel, which electron-builder names after the prerelease tag: `rc.yml`. */
function ofChannelFile(file: BuildFile, published: string): Entries | undefined {
  const [, channel] = /^[^-+]+-([a-z]+)/i.exec(published) ?? [];
  const isOfChannel = channel?.toLowerCase() === /^[a-z]+/i.exec(file.name)?.[0].toLowerCase();
  return isOfChannel ? ofUpdateFile(file, published) : undefined;
}

const SQUIRREL_LINE = /^([0-9a-f]{40})\s+(\S.*?)\s+(\d+)(?:\s+#.*)?$/i;

function ofSquirrel({ path }: BuildFile, published: string): Entries {
  const parsed = parseVersion(published);
  return readText(path)
    .split(/\r?\n/)
    .flatMap((line): Entries => {
      const [, sha1 = '', file = '', size] = SQUIRREL_LINE.exec(line.trim()) ?? [];
      if (sha1 === '') return [];
      const place = placeOf(file);
      const version = versionInPackageName(place.name);
      const other = otherPart(version, published);
      // The text after the version may be a channel or a prerelease: then the entry is left out.
      const isUnclear = other.other !== undefined && parsed && isNameOfVersion(other.other, parsed);
      return isUnclear ? [] : [{ ...place, sha1, size: Number(size), ...other }];
    });
}

const velopackFeed = z.object({
  Assets: z.array(
    z.object({
      Version: z.string(),
      FileName: z.string(),
      SHA1: z.string().nullish(),
      SHA256: z.string().nullish(),
      Size: z.int().nullish(),
    }),
  ),
});

function ofVelopack({ path }: BuildFile, published: string): Entries {
  const { data } = velopackFeed.safeParse(readJson(path));
  return (data?.Assets ?? []).map((asset) =>
    defined({
      ...placeOf(asset.FileName),
      sha1: asset.SHA1 ?? undefined,
      sha256: asset.SHA256 ?? undefined,
      size: asset.Size ?? undefined,
      ...otherPart(asset.Version, published),
    }),
  );
}

const velopackAssets = z.array(z.object({ RelativeFileName: z.string(), Type: z.unknown() }));

/** Reads which files Velopack packed last. Earlier versions of Velopack write no types. */
function ofVelopackAssets({ path }: BuildFile): Entries {
  const { data } = velopackAssets.safeParse(readJson(path));
  return (data ?? []).map(({ RelativeFileName: name, Type: type }) => ({
    ...placeOf(name),
    ...(type === 'Portable'
      ? { reason: 'an app that is not installed: Velopack says Portable' }
      : {}),
  }));
}

const element = z
  .array(z.union([z.string(), z.looseObject({}).transform(() => undefined)]))
  .transform(([text]) => text)
  .optional();
const attribute = z.string().optional();
const enclosure = z.object({
  '@url': z.string(),
  '@length': attribute,
  '@sparkle:version': attribute,
  '@sparkle:shortVersionString': attribute,
  '@sparkle:os': attribute,
  '@sparkle:edSignature': attribute,
});
const item = z.object({
  'sparkle:version': element,
  'sparkle:shortVersionString': element,
  'sparkle:minimumSystemVersion': element,
  'sparkle:hardwareRequirements': element,
  enclosure: z.array(enclosure).optional(),
});
const appcast = z.object({
  rss: z.array(z.object({ channel: z.array(z.object({ item: z.array(item).optional() })) })),
});

async function ofAppcast({ path }: BuildFile, published: string): Promise<Entries> {
  // Loaded only when there is an appcast.
  const { convert } = await import('xmlbuilder2');
  const text = readText(path);
  let tree: unknown;
  try {
    tree = convert(text, { format: 'object', verbose: true });
  } catch (error) {
    throw new ServiceError(`cannot read ${path}: ${(error as Error).message}`);
  }
  const { data } = appcast.safeParse(tree);
  if (data === undefined) {
    throw new ServiceError(`${path} is no appcast: it must be RSS whose enclosures have a url`);
  }
  const items = data.rss.flatMap(({ channel }) => channel).flatMap((each) => each.item ?? []);
  return items.flatMap((each) =>
    (each.enclosure ?? []).map((file) => ofEnclosure(each, file, published)),
  );
}

function ofEnclosure(
  of: z.output<typeof item>,
  file: z.output<typeof enclosure>,
  published: string,
): Entries[number] {
  const build = of['sparkle:version'] ?? file['@sparkle:version'];
  const version = of['sparkle:shortVersionString'] ?? file['@sparkle:shortVersionString'] ?? build;
  const [, system = 'macos', arch] = /^([a-z]+)(?:-(\w+))?$/.exec(file['@sparkle:os'] ?? '') ?? [];
  const length = file['@length'] ?? '';
  return defined({
    ...placeOf(file['@url']),
    platform: system === 'macos' ? 'darwin' : system,
    arch: arch ?? (of['sparkle:hardwareRequirements']?.includes('arm64') ? 'arm64' : undefined),
    size: /^\d+$/.test(length) ? Number(length) : undefined,
    minimumSystemVersion: dottedOf(of['sparkle:minimumSystemVersion']),
    buildVersion: build === version ? undefined : dottedOf(build),
    signature: file['@sparkle:edSignature'],
    ...otherPart(version, published),
  });
}

const metadata = z.object({ version: z.string() });

function ofGoreleaser({ path }: BuildFile, published: string): Entries {
  const folder = dirname(path);
  const files = readGoreleaserList(folder);
  if (files === undefined) return [];
  const beside = join(folder, 'metadata.json');
  const { data } = metadata.safeParse(existsSync(beside) ? readJson(beside) : undefined);
  const isOther = data !== undefined && parseVersion(data.version) !== undefined;
  if (isOther && !isSameVersion(data.version, published)) {
    throw new ServiceError(`metadata.json is of version ${data.version}, not of ${published}`);
  }
  return files.map(({ path: _, ...file }) => defined(file));
}

/** Returns the name at the end of a path or address, and the address if it is absolute. */
function placeOf(text: string): Pick<ManifestEntry, 'name' | 'url'> {
  const absolute = parseUrl(text);
  if (absolute === undefined) return { name: text.slice(text.lastIndexOf('/') + 1) };
  return { name: decodedFileName(text), url: text };
}

type Defined<Fields> = { readonly [Name in keyof Fields]: Exclude<Fields[Name], undefined> };

/** Leaves out the properties that have no value. */
function defined<Fields extends object>(fields: Fields): Defined<Fields> {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as Defined<Fields>;
}
