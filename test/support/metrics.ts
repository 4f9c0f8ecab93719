// Metrics of a node, as a query adds them up over its processes.

import { eventually } from './eventually.ts';
import { type Answer, send } from './tenant.ts';

/** Asks what a node tells of itself, until its supervisor answers in time: it is 503 before. */
export async function scrape(node: { readonly url: string }, path: string): Promise<Answer> {
  let answer = await send(node, 'GET', path);
  await eventually(`${path} is answered`, async () => {
    if (answer.status === 503) answer = await send(node, 'GET', path);
    return answer.status !== 503;
  });
  return answer;
}

/** Reads the metrics of a node, each series once for all processes and routes; throws without an answer. */
export async function metricsOf(node: { readonly url: string }): Promise<string> {
  const { status, text } = await scrape(node, '/metrics');
  if (status !== 200) throw new Error(`/metrics is ${status}: ${text}`);
  return overProcesses(text);
}

/** Reads one figure of a node, by its name and labels as `metricsOf` has them; NaN where it is not told. */
export async function figureOf(node: { readonly url: string }, series: string): Promise<number> {
  return figureIn(await metricsOf(node), series);
}

/** Reads one figure in metrics. */
export function figureIn(metrics: string, series: string): number {
  const line = metrics.split('\n').find((each) => each.startsWith(`${series} `));
  return Number(line?.slice(series.length) ?? Number.NaN);
}

const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;
/** Labels over which series are added up. */
const ADDED_UP = new Set(['process', 'surface', 'method', 'route']);

/**
 * Returns the lines of series without the labels that name processes and routes. Equal series are added up;
 * of figures that are no amounts, the worst one counts.
 */
export function overProcesses(text: string): string {
  const series = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [, name = '', labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (value === undefined) continue;
    const kept = [...labels.matchAll(LABEL)].filter(([, label = '']) => !ADDED_UP.has(label));
    const key = kept.length === 0 ? name : `${name}{${kept.map(([each]) => each).join(',')}}`;
    const known = series.get(key);
    series.set(key, known === undefined ? Number(value) : join(name, known, Number(value)));
  }
  return [...series].map(([key, value]) => `${key} ${value}\n`).join('');
}

function join(name: string, one: number, other: number): number {
  if (name === 'sluice_store_up') return Math.min(one, other);
  return name.endsWith('_seconds') || name.endsWith('_foreign')
    ? Math.max(one, other)
    : one + other;
}
