// Versions in the file names of NuGet packages, which Squirrel and Velopack read: `Notes-1.2.3-full.nupkg`,
// `Notes-1.2.3-osx-full.nupkg`, `Notes.1.2.3.nupkg`.

import { parseVersion, type Version } from '../decision/version.ts';

const ENDING = /(?:-(?:full|delta))?\.nupkg$/i;
const VERSION = /[-.](\d+\.\d+(?:\.\d+){0,2}(?:[-+].*)?)$/;

/** Returns the version text in a package's file name; undefined if there is none. */
export function versionInPackageName(fileName: string): string | undefined {
  return VERSION.exec(fileName.replace(ENDING, ''))?.[1];
}

/**
 * Returns whether the part of a file name is this version. After a hyphen it may have a prerelease, or the
 * channel that the package was built for.
 */
export function isNameOfVersion(part: string, version: Version): boolean {
  for (let text = part; ; text = text.slice(0, text.lastIndexOf('-'))) {
    if (parseVersion(text)?.canonical === version.canonical) return true;
    if (!text.includes('-')) return false;
  }
}
