// What speaks against a release that only the folder of its build tells: names of another version, and an
// update file of electron-builder that is missing.

import type { Finding } from '../contract/dry-run.ts';
import type { Artifact } from '../contract/resource.ts';
import { parseVersion } from '../domain/decision/version.ts';
import type { BuildFile } from './build-files.ts';
import type { ManifestEntry } from './build-manifest.ts';

/** Three or four numbers with dots between them, and none before or after. */
const NUMBERS = /(?<![\d.])\d+(?:\.\d+){2,3}(?!\.?\d)/g;
/** Maximum number of names that a finding cites. */
const CITED_MAX = 3;

/**
 * Returns the version that a name tells, where it is another one and the file of the published version lies
 * beside it: `App-1.3.0-full.nupkg` beside `App-1.4.0-full.nupkg`. Other numbers in a name are no version.
 */
export function earlierVersion(
  name: string,
  version: string,
  names: ReadonlySet<string>,
): string | undefined {
  const told = numbersIn(name);
  if (told.some((numbers) => isOf(numbers, version))) return undefined;
  const ofPublished = plainVersion(version);
  return told.find((numbers) => names.has(name.replaceAll(numbers, ofPublished)));
}

/** Returns a warning where names tell a version, and none tells that which is published. */
export function versionFindings(names: readonly string[], version: string): readonly Finding[] {
  const telling = names.filter((name) => numbersIn(name).length > 0);
  const isTold = telling.some((name) => numbersIn(name).some((told) => isOf(told, version)));
  if (isTold || telling.length === 0) return [];
  const versions = [...new Set(telling.flatMap(numbersIn))].join(', ');
  const cited = telling.slice(0, CITED_MAX).join(', ');
  const more = telling.length > CITED_MAX ? ', and more' : '';
  const message = `Is in the name of no file: they tell ${versions} (${cited}${more})`;
  return [{ path: 'version', severity: 'warning', message }];
}

function numbersIn(name: string): readonly string[] {
  return name.match(NUMBERS) ?? [];
}

/** Whether numbers are those of a version: `1.4.0.0` is of `1.4.0-beta.2`, and `2026.01.05` of `2026.1.5`. */
function isOf(numbers: string, version: string): boolean {
  const [told, published] = [plainVersion(numbers), plainVersion(version)];
  return `${told}.`.startsWith(`${published}.`) || `${published}.`.startsWith(`${told}.`);
}

function plainVersion(text: string): string {
  const canonical = parseVersion(text)?.canonical ?? text;
  return canonical.replace(/[-+].*/, '');
}

/** Update file that electron-builder writes for a platform where it writes a block map beside a file. */
const UPDATE_FILES: ReadonlyMap<string, string> = new Map([
  ['windows', 'latest.yml'],
  ['darwin', 'latest-mac.yml'],
]);
const UPDATE_FILE = /\.ya?ml$/i;

/**
 * Returns findings where electron-builder has built for a platform, and its update file is missing: an error
 * where that of another platform is there, because then one was lost. Without any, the app may have another
 * updater.
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
