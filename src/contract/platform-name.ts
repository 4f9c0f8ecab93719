// Names of platforms as people write them.

const NAMES: ReadonlyMap<string, string> = new Map([
  ['darwin', 'macOS'],
  ['windows', 'Windows'],
  ['linux', 'Linux'],
  ['android', 'Android'],
  ['ios', 'iOS'],
]);

/** Returns the name of a folded platform, such as `macOS` for `darwin`; an unknown one is its own name. */
export function platformName(platform: string): string {
  return NAMES.get(platform) ?? platform;
}
