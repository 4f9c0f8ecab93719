// Tests histograms of durations: they are written as prom-client writes its own, and joined over processes.

import { AggregatorRegistry, Histogram, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { DurationCounts } from '../../src/observe/duration-counts.ts';

const OPTIONS = { name: 'seconds', help: 'Durations', label: 'surface', bounds: [0.005, 0.1, 2.5] };
/** At a bound, between two, below all, above all. */
const SECONDS = [0.005, 0.1, 0.0051, 2, 0, 2.5, 2.500_1, 60];

function ours(): Registry {
  const registry = new Registry();
  const durations = new DurationCounts(registry, OPTIONS);
  durations.of('device');
  for (const seconds of SECONDS) durations.of('feed').observe(seconds);
  return registry;
}

function theirs(): Registry {
  const registry = new Registry();
  const { name, help, label, bounds } = OPTIONS;
  const labelNames = [label];
  const histogram = new Histogram({
    name,
    help,
    labelNames,
    buckets: bounds,
    registers: [registry],
  });
  histogram.zero({ surface: 'device' });
  for (const seconds of SECONDS) histogram.observe({ surface: 'feed' }, seconds);
  return registry;
}

function withSortedLabels(text: string): string {
  return text.replaceAll(/\{(.*)\}/g, (_, labels) => `{${labels.split(',').sort().join(',')}}`);
}

it('durations are written as a histogram of prom-client', async () => {
  const [own, other] = [ours(), theirs()];
  expect(await own.metrics()).toBe(await other.metrics());
  for (const registry of [own, other]) registry.setDefaultLabels({ process: 'worker-1' });
  expect(withSortedLabels(await own.metrics())).toBe(withSortedLabels(await other.metrics()));
});

it('durations of several processes are summed', async () => {
  const joined = async (registries: readonly Registry[]) => {
    const all = await Promise.all(registries.map((registry) => registry.getMetricsAsJSON()));
    return AggregatorRegistry.aggregate(all).metrics();
  };
  expect(await joined([ours(), ours()])).toBe(await joined([theirs(), theirs()]));
});
