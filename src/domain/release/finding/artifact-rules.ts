// Findings in single artifacts of a release.

import type { Finding } from '../../../contract/dry-run.ts';
import type { Artifact } from '../../../contract/resource.ts';
import { foldPlatform } from '../../decision/artifact/artifact.ts';
import { decodedFileName } from '../../decision/artifact/artifact-format.ts';
import { parseVersion, type Version } from '../../decision/version.ts';
import {
  type ExaminedArtifact,
  type ExaminedRelease,
  type FindingRule,
  isForPeople,
} from './examined-release.ts';

const HEX_SHA512 = /^[0-9a-fA-F]{128}$/;
/** 64 bytes are 86 characters, of which the last holds two bits. */
const BASE64_SHA512 = /^[0-9A-Za-z+/]{85}[AQgw]==$/;
/** Texts that are no signature: paths, file names, and texts that begin with a quote or a bracket. */
const INSTEAD_OF_SIGNATURE = /^\s*["'<{[]|^\.{0,2}\/\S*\.\w+$|\.(?:sig|minisig|asc)\s*$/i;
/** Format that Tauri alone installs, with a signature by minisign in base64. */
const TAURI_ARCHIVE = 'app.tar.gz';
/** Formats that no other updater than Tauri's installs. */
const TAURI_FORMATS: ReadonlySet<string | undefined> = new Set([
  ...[TAURI_ARCHIVE, 'appimage.tar.gz', 'nsis.zip', 'msi.zip'],
]);

export const ARTIFACT_RULES: readonly FindingRule[] = [
  each('error', 'url', ({ artifact }) =>
    artifact.url === undefined ? 'Is missing: devices have nothing to download' : undefined,
  ),
  each('error', 'sha512', ({ artifact: { sha512 } }) =>
    sha512 === undefined || HEX_SHA512.test(sha512) || BASE64_SHA512.test(sha512)
      ? undefined
      : 'Is no SHA-512: expected 128 hexadecimal digits, or 64 bytes in base64',
  ),
  each('error', 'signature', noSignature),
  each('error', 'signature', foreignSignature),
  each('error', 'signature', missingSignature),
  each('warning', 'signature', unsignedBundle),
  unknownPlatforms,
  each('warning', 'format', repeated),
  each('warning', 'url', ({ artifact: { url } }) =>
    url === undefined || /^https:/i.test(url) ? undefined : 'Is not https',
  ),
];

/** Makes a rule from a check of one artifact; `fault` returns undefined if the field is right. */
function each(
  severity: Finding['severity'],
  field: keyof Artifact,
  fault: (
    artifact: ExaminedArtifact,
    release: ExaminedRelease,
    index: number,
  ) => string | undefined,
): FindingRule {
  return (release) =>
    release.artifacts.flatMap((artifact, index) => {
      const message = fault(artifact, release, index);
      return message === undefined
        ? []
        : [{ path: `artifacts.${index}.${field}`, severity, message }];
    });
}

function noSignature({ artifact: { signature }, format }: ExaminedArtifact): string | undefined {
  if (signature === undefined) return undefined;
  if (INSTEAD_OF_SIGNATURE.test(signature)) {
    return `Is none: it has to be the text of the .sig file, ${FAILS}`;
  }
  if (format !== TAURI_ARCHIVE || readTrustedComment(signature) !== undefined) return undefined;
  return `Is none that Tauri reads: it has to be the text of the .sig file, ${FAILS}`;
}

const FAILS = 'else devices fail after the download';

function foreignSignature(
  { artifact: { signature, url } }: ExaminedArtifact,
  { version }: ExaminedRelease,
): string | undefined {
  const comment = signature === undefined ? undefined : readTrustedComment(signature);
  if (comment === undefined) return undefined;
  const name = url === undefined ? undefined : decodedFileName(url);
  if (comment.file !== undefined && name !== undefined && !fileNamesAgree(comment.file, name)) {
    return `Is that of another file: ${comment.file}`;
  }
  if (comment.version === undefined || isSameVersion(comment.version, version)) return undefined;
  return `Is that of another version: ${comment.version}`;
}

function missingSignature(
  artifact: ExaminedArtifact,
  { requireSignature, artifacts }: ExaminedRelease,
): string | undefined {
  if (artifact.isSigned || isForPeople(artifact)) return undefined;
  if (requireSignature) return 'Is missing: the channel offers no device an unsigned artifact';
  const { platform } = artifact;
  const isBesideSigned = artifacts.some(
    (other) => other.isSigned && other.platform === platform && !isForPeople(other),
  );
  return isBesideSigned ? `Is missing, and other artifacts for ${platform} are signed` : undefined;
}

/** Only a warning: current versions of Tauri's updater are not offered the file, and so do not fail on it. */
function unsignedBundle(artifact: ExaminedArtifact, release: ExaminedRelease): string | undefined {
  const { isSigned, format } = artifact;
  if (isSigned || !TAURI_FORMATS.has(format)) return undefined;
  if (missingSignature(artifact, release) !== undefined) return undefined;
  return `Is missing: Tauri's updater, for which ${format} is made, installs nothing unsigned`;
}

function unknownPlatforms(release: ExaminedRelease): readonly Finding[] {
  const { artifacts, others } = release;
  if (artifacts.every(({ artifact }) => nearestPlatform(artifact.platform) === undefined))
    return [];
  const had = new Set<string>();
  for (const other of others) {
    for (const { platform } of other.artifacts) had.add(foldPlatform(platform));
  }
  const rule = each('warning', 'platform', ({ artifact, platform }) => {
    const nearest = nearestPlatform(artifact.platform);
    if (nearest === undefined || had.has(platform)) return undefined;
    return `Is neither a known platform nor one that the channel has had; the nearest one is ${nearest}`;
  });
  return rule(release);
}

function repeated(
  { platform, arch, format }: ExaminedArtifact,
  { artifacts }: ExaminedRelease,
  index: number,
): string | undefined {
  const first = artifacts.findIndex(
    (other) => other.platform === platform && other.arch === arch && other.format === format,
  );
  if (first >= index) return undefined;
  const url = artifacts[first]?.artifact.url;
  const name = url === undefined ? `artifacts.${first}` : decodedFileName(url);
  return `Has the platform, architecture and format of ${name}: devices get one of the two`;
}

// Known names of platforms, and the nearest one to a misspelt name.

/** Platforms that files are built for, with their aliases. */
const KNOWN: readonly string[] = [
  ...['darwin', 'windows', 'linux', 'android', 'ios'],
  ...['freebsd', 'openbsd', 'netbsd', 'dragonfly', 'solaris', 'illumos', 'aix'],
  ...['macos', 'mac', 'osx', 'win32', 'win'],
];
const FOLDED: ReadonlySet<string> = new Set(KNOWN.map(foldPlatform));

/** Returns the known name with the fewest edits; undefined if the platform is known. */
export function nearestPlatform(platform: string): string | undefined {
  if (FOLDED.has(foldPlatform(platform))) return undefined;
  const name = platform.toLowerCase();
  let nearest: string | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  for (const known of KNOWN) {
    const edits = editsBetween(name, known);
    if (edits >= fewest) continue;
    nearest = known;
    fewest = edits;
  }
  return nearest;
}

/** Counts the letters to insert, delete or replace to turn one text into the other (Levenshtein distance). */
function editsBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let index = 0; index < from.length; index++) {
    const next = [index + 1];
    for (let other = 0; other < to.length; other++) {
      const replaced = (row[other] ?? 0) + (from[index] === to[other] ? 0 : 1);
      next.push(Math.min(replaced, (row[other + 1] ?? 0) + 1, (next[other] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}

// Trusted comments of minisign signatures, which name the signed file, and sometimes its version. Tauri's
// signatures are such files in base64.

export type TrustedComment = { readonly file?: string; readonly version?: string };

const COMMENT = /^trusted comment: ?(.*)$/m;
const BASE64 = /^[0-9A-Za-z+/=\s]+$/;
/** Tabs separate the fields; some tools use spaces, which also occur in file names. */
const BETWEEN_FIELDS = /\t|\s(?=(?:timestamp|file|version|prehashed|hashed)(?::|\s|$))/;

/** Reads the trusted comment of a signature; undefined if it has none. */
export function readTrustedComment(signature: string): TrustedComment | undefined {
  const [, text] = COMMENT.exec(plainText(signature)) ?? [];
  if (text === undefined) return undefined;
  const fields = text.trim().split(BETWEEN_FIELDS);
  const read = (name: string) =>
    fields
      .find((field) => field.startsWith(`${name}:`))
      ?.slice(name.length + 1)
      .trim() || undefined;
  const [file, version] = [read('file'), read('version')];
  return {
    ...(file === undefined ? {} : { file }),
    ...(version === undefined ? {} : { version }),
  };
}

/**
 * Returns whether two names are of the same file. On upload, code hosts replace characters other than
 * letters, digits and `.-_`.
 */
function fileNamesAgree(left: string, right: string): boolean {
  return plainName(left) === plainName(right);
}

/** Returns whether a text is this version, in any spelling. */
function isSameVersion(text: string, version: Version): boolean {
  return parseVersion(text)?.canonical === version.canonical;
}

function plainName(name: string): string {
  return name.replace(/[^0-9A-Za-z._-]+/g, '.');
}

function plainText(signature: string): string {
  if (!BASE64.test(signature)) return signature;
  return Buffer.from(signature, 'base64').toString('utf8');
}
