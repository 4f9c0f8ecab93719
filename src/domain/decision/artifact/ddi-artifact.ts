// Artifacts for clients of hawkBit's Direct Device Integration API (SWUpdate, rauc-hawkbit-updater, Zephyr):
// which formats they install, and what they must know of a file. SWUpdate and rauc-hawkbit-updater refuse one
// without a SHA-1 or a size. Its name may become a path on the device, and stands in log lines that SWUpdate
// pastes into JSON as they are.

import type { Artifact } from '../../../contract/resource.ts';
import { hasControls, isLongerThan } from '../../../contract/text.ts';
import { ARTIFACT_FORMATS, artifactFormat, decodedFileName } from './artifact-format.ts';

/** A file with all that these clients ask for. */
export type DdiArtifact = {
  readonly url: string;
  readonly fileName: string;
  /** Size in bytes, 1 or more. */
  readonly size: number;
  readonly sha1: string;
  /** Only Zephyr asks for it. */
  readonly sha256: string | undefined;
};

const FILE_NAME_LENGTH_MAX = 128;
/** Characters that lead to another folder, or end a text in JSON or in a shell. */
const UNFITTING = /[/\\"']/;
const FOLDERS: ReadonlySet<string> = new Set(['.', '..']);

/** Formats with a meaning of their own; every other name is a publisher's own. */
const KNOWN_FORMATS: ReadonlySet<string> = new Set(ARTIFACT_FORMATS);
const DDI_FORMATS: ReadonlySet<string> = new Set(['swu', 'raucb', 'zip']);

/** Returns the artifact as DDI clients are told of it; undefined if it does not fit them. */
export function ddiArtifact(artifact: Artifact): DdiArtifact | undefined {
  const { url, size = 0, sha1, sha256 } = artifact;
  if (url === undefined || sha1 === undefined || size < 1) return undefined;
  if (!isDdiFormat(artifactFormat(artifact))) return undefined;
  const fileName = ddiFileName(url);
  return fileName === undefined ? undefined : { url, fileName, size, sha1, sha256 };
}

/**
 * Returns whether DDI clients may install files of a format; undefined stands for a file without one. What
 * belongs to a desktop or a package manager, such as a `deb`, is none.
 */
export function isDdiFormat(format: string | undefined): boolean {
  if (format === undefined || DDI_FORMATS.has(format)) return true;
  return format.startsWith('tar.') || !KNOWN_FORMATS.has(format);
}

/** Returns the file name at the end of a URL, decoded; undefined if DDI clients cannot take it. */
export function ddiFileName(url: string): string | undefined {
  const name = decodedFileName(url);
  if (name === '' || isLongerThan(name, FILE_NAME_LENGTH_MAX)) return undefined;
  const isUnfitting = FOLDERS.has(name) || UNFITTING.test(name) || hasControls(name);
  return isUnfitting ? undefined : name;
}
