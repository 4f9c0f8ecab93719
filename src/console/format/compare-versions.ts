// The order of versions as far as a list on a page needs it. What is served is decided by the service.

const COLLATOR = new Intl.Collator('en', { numeric: true });

/** Negative when `left` is the older. Numbers count as numbers, and a prerelease comes before its release. */
export function compareVersions(left: string, right: string): number {
  const [leftCore, leftPre] = split(left);
  const [rightCore, rightPre] = split(right);
  const byCore = COLLATOR.compare(leftCore, rightCore);
  if (byCore !== 0) return byCore;
  if (leftPre === '' || rightPre === '') return Number(leftPre === '') - Number(rightPre === '');
  return COLLATOR.compare(leftPre, rightPre);
}

function split(version: string): readonly [core: string, prerelease: string] {
  const [plain = ''] = version.split('+');
  const at = plain.indexOf('-');
  return at === -1 ? [plain, ''] : [plain.slice(0, at), plain.slice(at + 1)];
}
