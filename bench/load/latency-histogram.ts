// Latencies in a fixed array: 128 buckets per doubling, so any value is known to within 0.8 %, and recording
// one allocates nothing.

/** Sixteenths of a microsecond: the clock is finer than a microsecond, and so are the fastest answers. */
const UNITS_PER_US = 16;
const SUB_BITS = 7;
const SUB_BUCKETS = 1 << SUB_BITS;
/** Longer ones (over two minutes) are counted as this long. */
const UNITS_MAX = 0x7fff_ffff;
const BUCKETS = SUB_BUCKETS * (31 - SUB_BITS + 1);

export class LatencyHistogram {
  readonly counts: Uint32Array;
  private total = 0;

  /** Empty, or with the counts of another one, which may have come through a message. */
  constructor(counts: ArrayLike<number> = new Uint32Array(BUCKETS)) {
    if (counts.length !== BUCKETS) throw new Error(`a histogram has ${BUCKETS} buckets`);
    this.counts = Uint32Array.from(counts);
    for (const count of this.counts) this.total += count;
  }

  get size(): number {
    return this.total;
  }

  /** Adds one latency, in milliseconds as `performance.now()` differences are. */
  record(ms: number): void {
    const units = Math.min(Math.max(ms, 0) * 1000 * UNITS_PER_US, UNITS_MAX);
    const index = bucketOf(units | 0);
    this.counts[index] = (this.counts[index] as number) + 1;
    this.total += 1;
  }

  add(other: LatencyHistogram): void {
    for (const [index, count] of other.counts.entries()) {
      this.counts[index] = (this.counts[index] as number) + count;
    }
    this.total += other.total;
  }

  clear(): void {
    this.counts.fill(0);
    this.total = 0;
  }

  /** The latency in microseconds that this share (0 to 1) of all did not exceed; NaN when there are none. */
  percentileUs(share: number): number {
    if (this.total === 0) return Number.NaN;
    const wanted = Math.max(1, Math.ceil(this.total * share));
    let seen = 0;
    for (const [index, count] of this.counts.entries()) {
      seen += count;
      if (seen >= wanted) return upperEdge(index) / UNITS_PER_US;
    }
    return Number.NaN;
  }
}

function bucketOf(units: number): number {
  if (units < SUB_BUCKETS) return units;
  const shift = 31 - SUB_BITS - Math.clz32(units);
  return shift * SUB_BUCKETS + (units >>> shift);
}

/** The largest value that falls into the bucket. */
function upperEdge(index: number): number {
  if (index < SUB_BUCKETS * 2) return index;
  const shift = (index >> SUB_BITS) - 1;
  const leading = index - shift * SUB_BUCKETS;
  return (leading + 1) * 2 ** shift - 1;
}
