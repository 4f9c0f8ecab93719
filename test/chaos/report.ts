// Table of a chaos run: for each fault and pair of faults, how often it struck, what was wrong, and how long
// it took until every node was right.

import type { ChaosFault } from './faults.ts';
import type { Judge } from './judge.ts';
import type { Publisher } from './traffic.ts';

export class ChaosReport {
  /** Writes that fail-overs and restores took. */
  lostCount = 0;
  private readonly rows = new Map<string, { wrong: number; readonly rightMs: number[] }>();
  private findingCount = 0;

  constructor(
    private readonly seed: number,
    private readonly judge: Judge,
    private readonly publisher: Publisher,
  ) {}

  /** Adds faults that struck together, and prints them with what was found since the last ones. */
  struck(faults: readonly ChaosFault[], rightMs: number, wrong: number): void {
    const names = faults.map((fault) => fault.name);
    const name = names.sort().join(' + ');
    const row = this.rows.get(name) ?? { wrong: 0, rightMs: [] };
    this.rows.set(name, row);
    row.wrong += wrong;
    row.rightMs.push(rightMs);
    const findings = this.judge.findings.slice(this.findingCount).map((each) => `- ${each}\n`);
    const right = `${name}: right after ${seconds(rightMs)}, ${wrong} wrong\n`;
    process.stdout.write([right, ...findings].join(''));
    this.findingCount = this.judge.findings.length;
  }

  /** Returns the table, the totals and what was wrong. */
  text(): string {
    const { counts, findings, wrongCount } = this.judge;
    const rows = [...this.rows].sort(([one], [other]) => one.localeCompare(other));
    const lines = rows.map(([name, { wrong, rightMs }]) => {
      const sorted = rightMs.toSorted((a, b) => a - b);
      const [median = 0, longest = 0] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
      return `| ${[name, sorted.length, seconds(median), seconds(longest), wrong].join(' | ')} |`;
    });
    const { acknowledged, failed } = this.publisher.counts;
    const answers =
      counts.offered + counts.nothing + counts.ddi + counts.unavailable + counts.unreachable;
    return [
      '',
      '| fault | times | right after (median) | right after (longest) | wrong |',
      '|---|---|---|---|---|',
      ...lines,
      '',
      `Seed ${this.seed}: ${answers} requests, of them ${counts.offered} checks with an offer, ` +
        `${counts.nothing} without an update, ${counts.ddi} by DDI (${counts.closed} closings), ` +
        `${counts.unavailable} unavailable, ` +
        `${counts.unreachable} without an answer (node dead or frozen).`,
      `${acknowledged} writes acknowledged, ${failed} failed, ` +
        `${this.lostCount} taken by fail-overs and restores.`,
      `Wrong: ${wrongCount}.`,
      ...findings.map((finding) => `- ${finding}`),
      '',
    ].join('\n');
  }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
