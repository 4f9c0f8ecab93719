// Findings in files: files of another version, and what file names show. A device that installs a file of
// another version runs that version afterwards, and is offered the new one at every check, for ever.

import { parseUrl } from '../../../contract/address.ts';
import { type Finding, warning } from '../../../contract/dry-run.ts';
import type { Artifact } from '../../../contract/resource.ts';
import { foldPlatform } from '../../decision/artifact/artifact.ts';
import { artifactFormat, decodedFileName } from '../../decision/artifact/artifact-format.ts';
import { foldArch, knownArch, NO_ARCH, UNIVERSAL } from '../../decision/artifact/fold-arch.ts';
import type { Version } from '../../decision/version.ts';
import { type AssetTarget, classifyAssets } from '../asset/classify-assets.ts';
import {
  areNumbersOf,
  isNameOfVersion,
  numbersInName,
  versionInPackageName,
} from '../asset/name-version.ts';
import type { NoArtifact } from '../asset/no-artifact.ts';
import { readAsset } from '../asset/read-asset.ts';
import { archesBeside, runsOnEveryArch } from '../asset/runs-on-every-arch.ts';
import type { ExaminedArtifact, ExaminedRelease, FindingRule } from './examined-release.ts';

export const FILE_RULES: readonly FindingRule[] = [
  hasEarlierFile,
  namesOtherVersion,
  fileNameFindings,
];

const INSTALLED_FOR_EVER =
  'devices install that version again at every check, and never get this one';

function hasEarlierFile({ artifacts, earlier }: ExaminedRelease): readonly Finding[] {
  // One pass over the artifacts of a channel, of which there may be hundreds of thousands.
  const own = new Map<string, Place[]>();
  for (const [index, { artifact }] of artifacts.entries()) {
    for (const [field, text] of marksOf(artifact)) {
      own.set(text, [...(own.get(text) ?? []), { index, field }]);
    }
  }
  const findings = new Map<number, Finding>();
  for (const { release } of earlier) {
    for (const other of release.artifacts) {
      for (const field of FIELDS) {
        const places = own.get(plainMark(field, other[field])) ?? [];
        for (const { index } of places) {
          if (findings.has(index)) continue;
          findings.set(index, fileOf(release.version, index, field));
        }
      }
    }
  }
  return [...findings.values()];
}

type Place = { readonly index: number; readonly field: Field };
type Field = (typeof FIELDS)[number];

/** Fields that identify an artifact's file; a finding names the first one that two artifacts share. */
const FIELDS = ['url', 'sha512', 'sha256', 'sha1'] as const;
const HEX_SHA512_LENGTH = 128;

function fileOf(version: string, index: number, field: Field): Finding {
  const what =
    field === 'url' ? `a file of ${version}, by its address` : `that of a file of ${version}`;
  const message = `Is ${what}: ${INSTALLED_FOR_EVER}`;
  return { path: `artifacts.${index}.${field}`, severity: 'error', message };
}

/** Returns the identifying fields of an artifact, in each spelling that another artifact may have. */
function marksOf(artifact: Artifact): readonly (readonly [Field, string])[] {
  const { url, sha512 } = artifact;
  const plain = FIELDS.map((field): [Field, string] => [field, plainMark(field, artifact[field])]);
  const address = url === undefined ? undefined : parseUrl(url)?.href;
  const spelt: [Field, string][] = [
    ...(address === undefined ? [] : [['url', address] satisfies [Field, string]]),
    ...(sha512 === undefined ? [] : [['sha512', otherSpelling(sha512)] satisfies [Field, string]]),
  ];
  return [...plain, ...spelt].filter(([, text]) => text !== '');
}

/** Returns the text of a field, in lower case where case does not matter; '' if it is absent. */
function plainMark(field: Field, text: string | undefined): string {
  if (text === undefined) return '';
  const isHex = field !== 'url' && (field !== 'sha512' || text.length === HEX_SHA512_LENGTH);
  return isHex ? text.toLowerCase() : text;
}

/** Returns a SHA-512 in base64 if it is given in hexadecimal digits, and the other way round. */
function otherSpelling(sha512: string): string {
  return sha512.length === HEX_SHA512_LENGTH
    ? Buffer.from(sha512, 'hex').toString('base64')
    : Buffer.from(sha512, 'base64').toString('hex');
}

/**
 * Warns of each file whose name has another version. If some file of the release names the right one, numbers
 * count only if an earlier release has that version, or in a package, whose name has a place for it.
 */
function namesOtherVersion(release: ExaminedRelease): readonly Finding[] {
  const { version, artifacts, earlier } = release;
  const names = artifacts.map((artifact) => versionsIn(artifact, version));
  const isTold = names.some(({ isOwn }) => isOwn);
  return names.flatMap(({ told, isOwn, isPackage }, index): Finding[] => {
    const isKnown = told.some((text) => earlier.some((other) => areNumbersOf(text, other.version)));
    if (isOwn || told.length === 0 || (isTold && !isPackage && !isKnown)) return [];
    return [warning(`artifacts.${index}.url`, `Names another version: ${told.join(', ')}`)];
  });
}

type Named = {
  readonly told: readonly string[];
  /** Whether one of them is the version that is published. */
  readonly isOwn: boolean;
  readonly isPackage: boolean;
};

function versionsIn({ artifact: { url }, format }: ExaminedArtifact, version: Version): Named {
  if (url === undefined) return { told: [], isOwn: false, isPackage: false };
  const name = decodedFileName(url);
  if (format === 'nupkg') {
    const told = versionInPackageName(name);
    const isOwn = told !== undefined && isNameOfVersion(told, version);
    return { told: told === undefined ? [] : [told], isOwn, isPackage: true };
  }
  const inName = numbersInName(name, version);
  const told = inName.length > 0 ? inName : numbersInName(tagIn(url), version);
  return { told, isOwn: told.some((text) => areNumbersOf(text, version)), isPackage: false };
}

/** Returns the tag in the URL of a file on a code host: often the only part that names the version. */
function tagIn(url: string): string {
  return /\/releases\/download\/([^/]+)\//.exec(url)?.[1] ?? '';
}

/** Returns the findings in the file names of a release's artifacts. */
function fileNameFindings(release: ExaminedRelease): readonly Finding[] {
  const artifacts = release.artifacts.map(({ artifact }) => artifact);
  const names = artifacts.map(({ url }) => (url === undefined ? '' : decodedFileName(url)));
  const targets = classifyAssets(names);
  return artifacts.flatMap((artifact, index): readonly Finding[] => {
    const [name = '', target] = [names[index], targets[index]];
    const none = noArtifact(artifact, name, names);
    if (none !== undefined) {
      const severity = none === 'unknown-ending' ? 'warning' : 'error';
      return [{ path: `artifacts.${index}.url`, severity, message: NO_ARTIFACT[none] }];
    }
    const message = archMismatch(artifact, target, artifacts);
    return message === undefined ? [] : [warning(`artifacts.${index}.arch`, message)];
  });
}

const NO_ARTIFACT: Readonly<Record<NoArtifact, string>> = {
  metadata: 'Is no file that devices install: it belongs to another one, by its name',
  part: 'Is a part of a file that was split',
  incomplete: 'Is no full package, which would be named …-full.nupkg',
  'unknown-ending': 'Has an ending that no format is known by',
};

function noArtifact(
  { url, format }: Artifact,
  name: string,
  names: readonly string[],
): NoArtifact | undefined {
  if (url === undefined) return undefined;
  // The publisher set another format than the name shows, and knows better.
  const isOwnFormat = format !== undefined && artifactFormat({ url }) !== format.toLowerCase();
  if (isOwnFormat) return undefined;
  const reading = readAsset(name);
  const none = 'none' in reading ? reading.none : undefined;
  const hasNoEnding = 'none' in reading ? none === 'unknown-ending' : reading.ending === '';
  const [whole] = /^.*(?=\.)/s.exec(name) ?? [];
  if (hasNoEnding && whole !== undefined && names.includes(whole)) return 'metadata';
  return none === 'no-platform' ? undefined : none;
}

/** Returns what is wrong with an artifact's architecture; `target` is what the file names show. */
function archMismatch(
  artifact: Artifact,
  target: AssetTarget | undefined,
  artifacts: readonly Artifact[],
): string | undefined {
  const platform = foldPlatform(artifact.platform);
  const arch = foldArch(artifact.arch, platform);
  if (arch !== NO_ARCH) {
    return target?.arch === arch && knownArch(arch, platform) === undefined
      ? `Is not known: only devices that tell ${arch} are offered this file`
      : undefined;
  }
  if (target?.arch === UNIVERSAL) return undefined;
  if (target?.arch !== undefined && target.platform === platform) {
    return `Is missing, while the names of the files tell ${target.arch}: ${FOR_ALL}`;
  }
  if (runsOnEveryArch(artifact, artifacts)) return undefined;
  const named = archesBeside(platform, artifacts).join(', ');
  return `Is missing, while other artifacts for ${platform} name theirs (${named}): ${FOR_ALL}`;
}

const FOR_ALL = 'devices of every architecture are offered this file';
