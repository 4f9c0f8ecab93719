// Histograms of how long requests waited, by their surface. Counting costs a search in a dozen bounds and two
// additions; a histogram of prom-client hashes its labels each time, which took 5 % of a waiting check.

import type { Metric, Registry } from 'prom-client';

type DurationOptions = {
  readonly name: string;
  readonly help: string;
  readonly label: string;
  /** Upper bounds in seconds, rising. */
  readonly bounds: readonly number[];
};

/** One sample, in the form in which prom-client reports it. */
type Series = {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
};

/** Histogram of the durations with one value of the label. */
export class DurationCount {
  /** Number of durations up to each bound and above the one before it; the last is that above all bounds. */
  private readonly counts: number[];
  private sum = 0;

  constructor(private readonly bounds: readonly number[]) {
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  /** Counts a duration in seconds. */
  observe(seconds: number): void {
    const { bounds, counts } = this;
    let index = 0;
    while (index < bounds.length && seconds > (bounds[index] as number)) index += 1;
    counts[index] = (counts[index] as number) + 1;
    this.sum += seconds;
  }

  /** Returns the series in the order in which prom-client writes those of a histogram. */
  seriesOf(name: string, labels: Readonly<Record<string, string>>): Series[] {
    let count = 0;
    const buckets = this.counts.map((each, index) => {
      count += each;
      const le = this.bounds[index] ?? '+Inf';
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: this.sum },
      { metricName: `${name}_count`, labels, value: count },
    ];
  }
}

export class DurationCounts {
  private readonly counts = new Map<string, DurationCount>();
  private readonly bounds: readonly number[];

  /** Registers the histogram, whose series are read at scrape time. */
  constructor(registry: Registry, { name, help, label, bounds }: DurationOptions) {
    this.bounds = bounds;
    const told = { name, help, type: 'histogram', aggregator: 'sum' };
    const get = async () => ({
      ...told,
      values: [...this.counts].flatMap(([value, count]) =>
        count.seriesOf(name, { [label]: value }),
      ),
    });
    // A registry uses only these two fields of a metric.
    registry.registerMetric({ name, get } as unknown as Metric);
  }

  /** Returns the histogram of a value of the label, the same object for the same value. */
  of(value: string): DurationCount {
    const known = this.counts.get(value) ?? new DurationCount(this.bounds);
    this.counts.set(value, known);
    return known;
  }
}
