// Judges the rules of deploy/prometheus by what a node tells: a scrape from before a cause and one from after
// it become series, which promtool plays. So an alert is seen to fire by its real cause, and to be silent
// before.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { repositoryPath } from '../docs/document.ts';
import { promtool } from './promtool.ts';
import { removeFolder, temporaryFolder } from './server-process.ts';

type Rule = { readonly alert?: string; readonly expr: string; readonly for?: string };

const RULES = join(repositoryPath, 'deploy/prometheus/rules.yml');
/** Minutes of a node without a cause, and minutes for which a cause that goes on is played. */
const BEFORE_MINUTES = 6;
const AFTER_MINUTES = 1500;

/** What a node told before and after a cause, and how long the cause had lasted. */
export type Scrapes = {
  readonly before: string;
  readonly after: string;
  readonly seconds: number;
  /** Whether counters go on to grow as they did; else they grew once. */
  readonly goesOn?: boolean;
};

/** Returns whether an alert is silent before the cause, and whether it fires after it. */
export async function judgeAlert(alert: string, scrapes: Scrapes) {
  const rule = readRules().find((each) => each.alert === alert);
  if (rule === undefined) throw new Error(`no alert ${alert}`);
  const names = new Set(rule.expr.match(/\b(sluice|process)_\w+/g));
  for (const recorded of rule.expr.matchAll(/job:[\w:]+/g)) {
    const record = readRules().find((each) => 'record' in each && each.record === recorded[0]);
    for (const name of record?.expr.match(/\bsluice_\w+/g) ?? []) names.add(name);
  }
  const series = seriesOf(names, scrapes);
  const firesAt = BEFORE_MINUTES + minutesOf(rule.for) + 4;
  return {
    isSilentBefore: !(await isFiring(alert, series, BEFORE_MINUTES - 1)),
    firesAfter: await isFiring(alert, series, firesAt),
  };
}

function readRules(): readonly Rule[] {
  const { groups } = load(readFileSync(RULES, 'utf8')) as { groups: { rules: Rule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

/** Returns the minutes of a time of Prometheus, such as `5m` or `1h`. */
function minutesOf(time = '0m'): number {
  const [, count = '0', unit] = /^(\d+)([mh])$/.exec(time) ?? [];
  return Number(count) * (unit === 'h' ? 60 : 1);
}

function seriesOf(names: ReadonlySet<string>, { before, after, seconds, goesOn = true }: Scrapes) {
  const earlier = valuesOf(names, before);
  return [...valuesOf(names, after)].map(([series, value]) => {
    const known = earlier.get(series);
    // What was not there before stays absent: the alert must do with what a fresh node has.
    const fresh = known === undefined ? `_x${BEFORE_MINUTES}` : `_ ${known}x${BEFORE_MINUTES - 1}`;
    const isCounter = /_(total|bucket|count|sum)\{/.test(series);
    // The counter of a process that was started anew begins at 0.
    const grown = known === undefined || known > value ? value : value - known;
    const growth = isCounter && goesOn ? (grown / seconds) * 60 : 0;
    return { series, values: `${fresh} ${value}+${growth}x${AFTER_MINUTES}` };
  });
}

/** Values of these metrics by series, with the labels that Prometheus adds. */
function valuesOf(names: ReadonlySet<string>, text: string): ReadonlyMap<string, number> {
  const values = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [, name = '', labels = '', value = ''] = /^(\w+)\{(.*)\} (\S+)$/.exec(line) ?? [];
    if (names.has(name) && value !== 'Nan' && value !== 'NaN') {
      values.set(`${name}{job="sluice",instance="a",${labels}}`, Number(value));
    }
  }
  return values;
}

async function isFiring(
  alert: string,
  series: readonly { readonly series: string; readonly values: string }[],
  minute: number,
): Promise<boolean> {
  const folder = temporaryFolder('sluice-alert-');
  const file = join(folder, 'alert.test.yml');
  const tests = [
    {
      interval: '1m',
      input_series: series,
      alert_rule_test: [{ alertname: alert, eval_time: `${minute}m`, exp_alerts: [] }],
    },
  ];
  // JSON is YAML.
  writeFileSync(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: '1m', tests }));
  const { code, output } = await promtool(['test', 'rules', file]);
  removeFolder(folder);
  if (code === 0) return false;
  if (!output.includes('got:') || !output.includes(`alertname="${alert}"`)) throw new Error(output);
  return true;
}
