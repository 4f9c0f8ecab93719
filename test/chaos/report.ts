// Table of a chaos run: for each fault and pair of faults, how often it struck, what was wrong, and how long
// it took until every node was right.

import type { ChaosFault } from './faults.ts';
import type { Judge } from './judge.ts';
import type { Publisher } from './traffic.ts';

type Row = { count: number; wrong: number; readonly rightMs: number[] };

export class ChaosReport {
  private readonly seed: number;
  private readonly judge: Judge;
  private readonly publisher: Publisher;
  private readonly rows = new Map<string, Row>();
  private lostCount = 0;
  private findingCount = 0;

  constructor(seed: number, judge: Judge, publisher: Publisher) {
    this.seed = seed;
    this.judge = judge;
    this.publisher = publisher;
  }

  /** Adds the writes that a fail-over or a restore took. */
  lost(count: number): void {
    this.lostCount += count;
  }

  /** Adds faults that struck together, and prints them with what was found since the last ones. */
  struck(faults: readonly ChaosFault[], rightMs: number, wrong: number): void {
    const name = faults
      .map((fault) => fault.name)
      .sort()
      .join(' + ');
    const row = this.rows.get(name) ?? { count: 0, wrong: 0, rightMs: [] };
    this.rows.set(name, row);
    row.count += 1;
    row.wrong += wrong;
    row.rightMs.push(rightMs);
    process.stdout.write(`${name}: right after ${seconds(rightMs)}, ${wrong} wrong\n`);
    const { findings } = this.judge;
    for (const finding of findings.slice(this.findingCount)) process.stdout.write(`- ${finding}\n`);
    this.findingCount = findings.length;
  }

  /** Returns the table, the totals and what was wrong. */
  text(): string {
    const { counts, findings, wrongCount } = this.judge;
    const rows = [...this.rows].sort(([one], [other]) => one.localeCompare(other));
    const lines = rows.map(([name, { count, wrong, rightMs }]) => {
      const sorted = [...rightMs].sort((a, b) => a - b);
      const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
      return `| ${name} | ${count} | ${seconds(median)} | ${seconds(Math.max(...sorted))} | ${wrong} |`;
    });
    const { acknowledged, failed } = this.publisher.counts;
    const answers = counts.offered + counts.nothing + counts.unavailable + counts.unreachable;
    return [
      '',
      '| fault | times | right after (median) | right after (longest) | wrong |',
      '|---|---|---|---|---|',
      ...lines,
      '',
      `Seed ${this.seed}: ${answers} checks, of them ${counts.offered} offers, ` +
        `${counts.nothing} without an update, ${counts.unavailable} unavailable, ` +
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
