// Counts latencies in a fixed array of 128 buckets per doubling, so that every value is known to within 0.8
// %. Recording a latency allocates nothing.

const UNITS_PER_US = 16;
const SUB_BITS = 7;
const SUB_BUCKETS = 1 << SUB_BITS;
/** Longest latency that is recorded as it is, over two minutes. */
const UNITS_MAX = 0x7fff_ffff;
const BUCKETS = SUB_BUCKETS * (31 - SUB_BITS + 1);

export class LatencyHistogram {
  readonly counts: Uint32Array;
  size = 0;

  /** Makes an empty histogram, or one with the counts of another, which may have come through a message. */
  constructor(counts: ArrayLike<number> = new Uint32Array(BUCKETS)) {
    if (counts.length !== BUCKETS) throw new Error(`a histogram has ${BUCKETS} buckets`);
    this.counts = Uint32Array.from(counts);
    for (const count of this.counts) this.size += count;
  }

  record(ms: number): void {
    const units = Math.min(Math.max(ms, 0) * 1000 * UNITS_PER_US, UNITS_MAX);
    const index = bucketOf(units | 0);
    this.counts[index] = (this.counts[index] as number) + 1;
    this.size += 1;
  }

  clear(): void {
    this.counts.fill(0);
    this.size = 0;
  }

  /** Latency in microseconds that this share (0 to 1) of all did not exceed; NaN when there are none. */
  percentileUs(share: number): number {
    if (this.size === 0) return Number.NaN;
    const wanted = Math.max(1, Math.ceil(this.size * share));
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

function upperEdge(index: number): number {
  if (index < SUB_BUCKETS * 2) return index;
  const shift = (index >> SUB_BITS) - 1;
  const leading = index - shift * SUB_BUCKETS;
  return (leading + 1) * 2 ** shift - 1;
}
