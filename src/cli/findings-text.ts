// What a dry run says, for people.

import { type Effect, type Finding, reachedBy } from '../contract/dry-run.ts';
import { printableText } from './printable-text.ts';

/** Returns a line for each finding. */
export function findingsText(findings: readonly Finding[]): string {
  if (findings.length === 0) return 'findings: none';
  return findings
    .map(({ severity, path, message }) => printableText(`${severity}: ${path}: ${message}`))
    .join('\n');
}

/** Returns the effect on a release of this version in a few lines. */
export function effectText(version: string, effect: Effect): string {
  const { devices, isEstimate, lose, moves } = effect;
  const about = isEstimate ? 'about ' : '';
  const reached = reachedBy({ release: { version }, effect });
  const summary = printableText(
    `effect: of ${about}${devices} devices, ${reached} are newly offered ${version}, ` +
      `${lose} are offered nothing any more`,
  );
  const lines = moves.map(
    ({ from, to, devices: count }) =>
      `  ${about}${count}: ${from ?? 'no offer'} -> ${to ?? 'no offer'}`,
  );
  return [summary, ...lines.map(printableText)].join('\n');
}
