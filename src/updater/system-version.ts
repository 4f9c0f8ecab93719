// Minimum versions of operating systems as electron-updater compares them: with `os.release()`, the version
// of the kernel. Publishers write the version of the product.

/** macOS versions skip from 15 to 26, its kernel versions do not: those in between are kernel versions. */
const DARWIN = { min: 16, max: 25 };
const WINDOWS_11 = '10.0.22000';

/**
 * Returns the kernel version for a minimum system version, in three numbers: electron-updater ignores any
 * other form, and offers the update to every system. A version of Darwin, which electron-builder writes, is
 * returned as it is.
 */
export function kernelVersion(platform: string, system: string): string {
  const [major = 0, minor = 0, patch = 0] = system.split('.').map(Number);
  if (platform === 'darwin') return darwinVersion(major, minor, patch);
  if (platform === 'windows' && major === 11) return WINDOWS_11;
  return `${major}.${minor}.${patch}`;
}

/**
 * Returns Darwin's version for a macOS version, as Apple's release notes pair them: 10.15 is 19, 11 is 20, 15
 * is 24, 26 is 25. Minor versions of 11 to 13, except the first, are one behind Darwin's.
 */
function darwinVersion(major: number, minor: number, patch: number): string {
  if (major === 10) return `${minor + 4}.${patch}.0`;
  if (major >= DARWIN.min && major <= DARWIN.max) return `${major}.${minor}.${patch}`;
  if (major > DARWIN.max) return `${major - 1}.${minor}.0`;
  const isBehind = major <= 13 && minor > 0;
  return `${major + 9}.${isBehind ? minor + 1 : minor}.0`;
}
