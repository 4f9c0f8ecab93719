// Findings that only the folder of a build can show: files of an earlier version, and a missing update file
// of electron-builder.

import type { Finding } from '../../contract/dry-run.ts';
import type { Artifact } from '../../contract/resource.ts';
import { parseVersion } from '../../domain/decision/version.ts';
import {
  areNumbersOf,
  numbersInName,
  plainVersion,
} from '../../domain/release/asset/name-version.ts';
import type { BuildFile } from './build-files.ts';
import type { ManifestEntry } from './build-manifest.ts';

/**
 * Returns the version in a file's name if it is another one, and the same file of the published version lies
 * beside it: `App-1.3.0-full.nupkg` beside `App-1.4.0-full.nupkg`. Other numbers are no version.
 */
export function earlierVersion(
  name: string,
  text: string,
  names: ReadonlySet<string>,
): string | undefined {
  const version = parseVersion(text);
  if (version === undefined) return undefined;
  const told = numbersInName(name, version);
  if (told.some((numbers) => areNumbersOf(numbers, version))) return undefined;
  const ofPublished = plainVersion(version);
  return told.find((numbers) => names.has(name.replaceAll(numbers, ofPublished)));
}

/** Update file that electron-builder writes for a platform when it writes a block map beside a file. */
const UPDATE_FILES: ReadonlyMap<string, string> = new Map([
  ['windows', 'latest.yml'],
  ['darwin', 'latest-mac.yml'],
]);
const UPDATE_FILE = /\.ya?ml$/i;

/**
 * Returns a finding for each platform that electron-builder has built for and whose update file is missing:
 * an error if the update file of another platform is there, because then one was lost; else a warning,
 * because the app may use another updater.
 */
export function updateFileFindings(
  files: readonly BuildFile[],
  entries: readonly ManifestEntry[],
  taken: readonly { readonly file: BuildFile; readonly artifact: Artifact }[],
): readonly Finding[] {
  const ofUpdateFiles = entries.filter(({ from }) => UPDATE_FILE.test(from));
  const listed = new Set(ofUpdateFiles.map(({ platform }) => platform));
  const names = new Set(files.map(({ name }) => name));
  const findings = new Map<string, Finding>();
  for (const { file, artifact } of taken) {
    const path = UPDATE_FILES.get(artifact.platform);
    if (path === undefined || listed.has(artifact.platform)) continue;
    if (!names.has(`${file.name}.blockmap`) || findings.has(path)) continue;
    const severity = listed.size > 0 ? 'error' : 'warning';
    const message =
      `Is missing, while ${file.name} has a block map: electron-builder writes both, and the update file ` +
      'has its name, its checksum and the lowest system version';
    findings.set(path, { path, severity, message });
  }
  return [...findings.values()];
}
