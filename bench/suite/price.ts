// Measures what a check costs on the present tree beside another commit, without sockets and stores: both
// builds in one process, in slices by turns. On a busy machine most of its intervals reach one to two and a
// half percent to each side.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Benchmark, type Given, Refusal } from '../benchmark.ts';
import { intervalText } from '../measure/statistics.ts';
import { PRICE_SCENARIOS } from '../price/inside/price-scenarios.ts';
import { measureScenario, type Price, type PricePace, preparePair } from '../price/price-run.ts';
import type { Report, Row } from '../report.ts';
import { SCENARIO_OPTION } from './check.ts';
import { commitOf, ROOT } from './checkout.ts';

/** Many processes, each short: what a process makes of its code differs more than its slices do. */
const PACE: PricePace = { processes: 8, warmupSlices: 160, seconds: 2.5 };
const SMOKE: PricePace = { processes: 6, warmupSlices: 120, seconds: 0.8 };
const SMOKE_NAMES = ['full', '20 %'];

export const price: Benchmark = {
  name: 'price',
  title: 'what a check costs beside the last release, or a commit, without sockets',
  argument: '[ref]',
  options: [SCENARIO_OPTION],
  reading: [
    'price: time from the callback of the HTTP server to the written answer, present by other: above 1 the',
    'present tree is dearer. 95 %: bootstrap interval over the processes and their blocks. ns: the time',
    'itself; bytes: what a check allocates; calls: into the HTTP server, which cost nothing here.',
  ],
  async run(given) {
    const list = scenariosOf(given);
    const compared = otherOf(given.ref);
    if (typeof compared === 'string') return { tables: [], remarks: [`left out: ${compared}`] };
    console.error(`  two builds, the other of ${compared.name} …`);
    const pair = preparePair([undefined, compared.commit]);
    try {
      const prices: Price[] = [];
      for (const scenario of list) {
        console.error(`  ${scenario} …`);
        const measured = await measureScenario(pair, scenario, given.isSmoke ? SMOKE : PACE);
        // Told at once: a run that is broken off later has not been in vain.
        console.error(`    price ${measured.ratio.toFixed(3)} (${intervalText(measured)})`);
        prices.push(measured);
      }
      return reportOf(compared, prices);
    } finally {
      pair.remove();
    }
  },
};

function scenariosOf({ options, isSmoke }: Given): readonly string[] {
  const names = PRICE_SCENARIOS.map(({ name }) => name);
  const { scenario } = options as { readonly scenario?: string };
  const usual = isSmoke ? SMOKE_NAMES : [''];
  const beginnings = scenario === undefined ? usual : [scenario];
  const chosen = names.filter((name) => beginnings.some((each) => name.startsWith(each)));
  if (chosen.length > 0) return chosen;
  throw new Refusal(`no scenario begins with "${scenario}": there are ${names.join(', ')}`);
}

type Other = { readonly name: string; readonly commit: string };

/** Returns the commit to compare with, or why there is none. */
function otherOf(ref: string | undefined): Other | string {
  if (ref !== undefined) return { name: ref, commit: commitOf(ref) };
  const name = lastRelease(ROOT);
  if (name === undefined) return 'there is no tag, and CHANGELOG.md names no commit of a release';
  try {
    return { name, commit: commitOf(name) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return `${name}, the last release, is not in this clone (a shallow one has no tags)`;
  }
}

/** Returns the newest tag, else the commit that CHANGELOG.md names for the newest version that has one. */
export function lastRelease(root: string): string | undefined {
  const args = ['describe', '--tags', '--abbrev=0'];
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  if (status === 0) return stdout.trim();
  const text = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
  const released = text.slice(text.search(/^## \[\d/m));
  return /\bcommit `([0-9a-f]{7,40})`/.exec(released)?.[1];
}

function reportOf({ name, commit }: Other, prices: readonly Price[]): Report {
  return {
    tables: [
      { title: `present tree by ${name} (${commit.slice(0, 12)})`, rows: prices.map(rowOf) },
    ],
    remarks: prices.flatMap(({ scenario, remarks }) =>
      remarks.map((remark) => `${scenario}: ${remark}`),
    ),
    json: { price: { commit, prices } },
  };
}

function rowOf(measured: Price): Row {
  const [present, other] = measured.nsPerCheck.map(Math.round);
  const [presentBytes, otherBytes] = measured.bytesPerCheck.map(Math.round);
  const [presentCalls, otherCalls] = measured.callsPerCheck.map((count) => count.toFixed(1));
  return {
    ...{ scenario: measured.scenario, price: measured.ratio.toFixed(3) },
    ...{ '95 %': intervalText(measured), 'present ns': present ?? 0, 'other ns': other ?? 0 },
    bytes: `${presentBytes} by ${otherBytes}`,
    calls: `${presentCalls} by ${otherCalls}`,
    blocks: measured.blocks,
  };
}
