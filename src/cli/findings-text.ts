// What a dry run says, for people.

import type { Effect, Finding } from '../contract/rehearsed.ts';
import { printableText } from './printable-text.ts';

/** Returns a line for each finding. */
export function findingsText(findings: readonly Finding[]): string {
  if (findings.length === 0) return 'findings: none';
  return findings
    .map(({ severity, path, message }) => printableText(`${severity}: ${path}: ${message}`))
    .join('\n');
}

/** Returns the effect in a few lines. */
export function effectText({ devices, isEstimate, gain, lose, moves }: Effect): string {
  const about = isEstimate ? 'about ' : '';
  const summary = `effect: of ${about}${devices} devices, ${gain} get an offer and ${lose} lose theirs`;
  const lines = moves.map(
    ({ from, to, devices: count }) =>
      `  ${about}${count}: ${from ?? 'no offer'} -> ${to ?? 'no offer'}`,
  );
  return [summary, ...lines.map(printableText)].join('\n');
}
