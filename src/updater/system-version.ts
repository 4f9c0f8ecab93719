// Minimum versions of operating systems. Publishers write the product's version (macOS 13); electron-updater
// compares the kernel's (`os.release()`), and WinSparkle Windows' internal one. Tables convert them, because
// kernels are numbered by no rule.

/**
 * Returns the version that electron-updater compares with the kernel's, as SemVer: any other form is ignored,
 * and the update offered to every system. A version of Darwin, which electron-builder writes, is returned as
 * it is.
 */
export function kernelVersion(platform: string, system: string): string {
  if (platform === 'darwin') return darwinVersion(system);
  if (platform === 'windows') return windowsVersion(system).join('.');
  const version = numbersOf(system).join('.');
  // A distribution's kernel, such as `5.15.0-91-generic`, is below `5.15.0` to SemVer, but above `5.15.0-0`.
  return platform === 'linux' ? `${version}-0` : version;
}

/**
 * Returns the version of Windows in the form that every WinSparkle compares: before 0.8.2 it took a third
 * number for a service pack, which no Windows of today has, and read nothing behind a dash.
 */
export function winSparkleVersion(system: string): string {
  const [major, minor, build] = windowsVersion(system);
  return build === 0 ? `${major}.${minor}` : `${major}.${minor}-${build}`;
}

type Numbers = readonly [major: number, minor: number, patch: number];

function numbersOf(system: string): Numbers {
  const [major = 0, minor = 0, patch = 0] = system.split('.').map(Number);
  return [major, minor, patch];
}

/** First build of Windows 11, whose version is still 10.0. */
const WINDOWS_11_BUILD = 22_000;

/** Version of Windows by the number in its name, where the two differ. */
function windowsVersion(system: string): Numbers {
  const [major, minor, build] = numbersOf(system);
  if (major === 11) return [10, 0, Math.max(build, WINDOWS_11_BUILD)];
  if (major === 8) return [6, minor === 0 ? 2 : 3, 0];
  if (major === 7) return [6, 1, 0];
  return [major, minor, build];
}

/**
 * Minor versions of Darwin by line of macOS: the one at index N is that of update N, which is 10.15.N in a
 * line of 10, else the minor version of macOS. The last one holds for all updates that follow: Apple closes a
 * line with security updates on its last kernel, so 13.5, 13.6 and 13.7 are Darwin 22.6.0. From Apple's
 * `config/MasterVersion` in the sources of xnu, and what `uname -r` prints.
 */
const DARWIN: ReadonlyMap<string, readonly [major: number, minors: readonly number[]]> = new Map([
  ['10.9', [13, [0, 0, 1, 2, 3, 4]]],
  ['10.10', [14, [0, 0, 1, 3, 4, 5]]],
  ['10.11', [15, [0, 0, 2, 3, 4, 5, 6]]],
  ['10.12', [16, [0, 1, 3, 4, 5, 6, 7]]],
  ['10.13', [17, [0, 2, 3, 4, 5, 6, 7]]],
  ['10.14', [18, [0, 2, 2, 2, 5, 6, 7]]],
  ['10.15', [19, [0, 0, 2, 3, 4, 5, 6]]],
  // What macOS 11 calls itself to programs that were built before it.
  ['10.16', [20, [0]]],
  // Darwin 20, 21 and 22 began at .1, so their updates run one ahead.
  ['11', [20, [0, 2, 3, 4, 5, 6]]],
  ['12', [21, [0, 2, 3, 4, 5, 6]]],
  ['13', [22, [0, 2, 3, 4, 5, 6]]],
  ['14', [23, [0, 1, 2, 3, 4, 5, 6]]],
  ['15', [24, [0, 1, 2, 3, 4, 5, 6]]],
  // There is no macOS 16 to 25, and no Darwin 26.
  ['26', [25, [0, 1, 2, 3, 4, 5, 6]]],
]);
/** First major version that macOS and Darwin share; as before, a line ends at minor version 6. */
const SAME_NUMBER = { major: 27, minorMax: 6 };

function darwinVersion(system: string): string {
  const [major, minor, patch] = numbersOf(system);
  const [line, update] = major === 10 ? [`10.${minor}`, patch] : [String(major), minor];
  const known = DARWIN.get(line);
  if (known !== undefined) {
    const [darwin, minors] = known;
    return `${darwin}.${minors[Math.min(update, minors.length - 1)]}.0`;
  }
  if (major >= SAME_NUMBER.major) return `${major}.${Math.min(minor, SAME_NUMBER.minorMax)}.0`;
  // Mac OS X before 10.9, which runs no Electron.
  return major === 10 ? `${minor + 4}.0.0` : `${major}.${minor}.${patch}`;
}
