// Text for people of the findings and effect of a dry run.

import { type Effect, type Finding, reachedBy } from '../../contract/dry-run.ts';
import type { Artifact } from '../../contract/resource.ts';
import { findingText } from '../../words/finding.ts';
import { countWords } from '../../words/name.ts';
import { printableText } from './print-answer.ts';

/** Returns a line for each finding about a release with these artifacts. */
export function findingsText(
  findings: readonly Finding[],
  artifacts: readonly Pick<Artifact, 'url'>[] = [],
): string {
  if (findings.length === 0) return 'findings: none';
  return findings
    .map((finding) => printableText(`${finding.severity}: ${findingText(finding, artifacts)}`))
    .join('\n');
}

/** Whether devices that are offered the release would fail. */
export function isError({ severity }: Finding): boolean {
  return severity === 'error';
}

/** Returns the number of errors, and how to publish in spite of them. */
export function errorsText(findings: readonly Finding[]): string {
  return `${countWords(findings.filter(isError).length, 'error')}: --force publishes all the same`;
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
