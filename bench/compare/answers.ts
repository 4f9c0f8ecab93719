// Compares the answers of two services: a comparison of their cost means nothing when the answers differ.

import type { FixedAnswer } from '../servers/start-server.ts';

/** Times in an answer, such as the creation time of a release. The comparison ignores them. */
const TIMES = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

/**
 * Share of the answers, 0 to 1, that one service gave and the other did not. Order does not count: release
 * ids are random and decide which devices are in a cohort, but the size of the cohort hardly changes.
 */
export function differingShare(
  answers: readonly FixedAnswer[],
  others: readonly FixedAnswer[],
): number {
  const surplus = new Map<string, number>();
  const count = (answer: FixedAnswer, by: number) => {
    const { status, headers, body } = answer;
    const text = JSON.stringify([status, headers, body.replace(TIMES, '')]);
    surplus.set(text, (surplus.get(text) ?? 0) + by);
  };
  for (const answer of answers) count(answer, 1);
  for (const answer of others) count(answer, -1);
  const unmatched = [...surplus.values()].reduce((sum, left) => sum + Math.abs(left), 0);
  return unmatched / (answers.length + others.length);
}
