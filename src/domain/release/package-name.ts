// Versions in the file names of NuGet packages, from which Squirrel and Velopack read what they install:
// `Notes-1.2.3-full.nupkg`, `Notes-1.2.3-osx-full.nupkg`, `Notes.1.2.3.nupkg`.

import { parseVersion, type Version } from '../decision/version.ts';

const ENDING = /(?:-(?:full|delta))?\.nupkg$/i;
const VERSION = /[-.](\d+\.\d+(?:\.\d+){0,2}(?:[-+].*)?)$/;

/** Returns what stands for the version in a package's file name; undefined when nothing does. */
export function versionInPackageName(fileName: string): string | undefined {
  return VERSION.exec(fileName.replace(ENDING, ''))?.[1];
}

/**
 * Whether the part of a file name is this version. What follows a hyphen may be a prerelease, or the channel
 * that the package was built for.
 */
export function isNameOfVersion(part: string, version: Version): boolean {
  for (let text = part; ; text = text.slice(0, text.lastIndexOf('-'))) {
    if (parseVersion(text)?.canonical === version.canonical) return true;
    if (!text.includes('-')) return false;
  }
}
