// Judges whether a round says something about the server, or about other work on the machine.

/** Shares of one processor during the round; NaN where the system does not tell. */
export type RoundShares = {
  readonly server: number;
  /**
   * Share of the generator and everything else on its processor: stores, and the service's other processes.
   */
  readonly generatorSide: number;
  /** Share of processes that are no part of the benchmark. */
  readonly foreign: number;
  /** Share that the host gave to other machines. */
  readonly stolen: number;
};

/**
 * Judgement on a round. `generator-bound`: the generator's processor was full before the server's was, so the
 * rate is that of the generator, but the CPU per request still counts.
 */
export type Verdict = 'good' | 'generator-bound' | 'disturbed';

/** Minimum share of its processor at which the server is what limits the rate. */
const SATURATED = 0.94;
const GENERATOR_SATURATED = 0.9;
const FOREIGN_MAX = 0.06;
/** Share that the host may take: it counts in ticks of 10 ms, of which a round of 0.3 s may lose one. */
const STOLEN_MAX = 0.04;
/** Difference between requests per second and CPU per request above which a reader must be told. */
const AGREEMENT_MAX = 0.05;

/** Judges a closed-loop round. A share that cannot be measured does not speak against it. */
export function judgeRound(shares: RoundShares): Verdict {
  const { server, generatorSide } = shares;
  if (isDisturbed(shares)) return 'disturbed';
  if (!(server < SATURATED)) return 'good';
  return generatorSide >= GENERATOR_SATURATED ? 'generator-bound' : 'disturbed';
}

/** Judges an open-loop round, which saturates nothing on purpose. */
export function judgePacedRound(shares: RoundShares): Verdict {
  return isDisturbed(shares) ? 'disturbed' : 'good';
}

function isDisturbed({ foreign, stolen }: RoundShares): boolean {
  return foreign > FOREIGN_MAX || stolen > STOLEN_MAX;
}

/** Tells whether the two ratios of the same servers, by rate and by CPU time, are about equal. */
export function agree(rateRatio: number, cpuRatio: number): boolean {
  if (Number.isNaN(cpuRatio)) return true;
  return Math.abs(rateRatio - cpuRatio) <= AGREEMENT_MAX * Math.max(rateRatio, cpuRatio);
}
