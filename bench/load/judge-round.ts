// Whether a round says something about the server, or about what else went on on the machine.

/** Shares of one processor during the round; NaN where the system does not tell. */
export type RoundShares = {
  readonly server: number;
  /** The generator and all that shares its processor: the stores, the service's background. */
  readonly generatorSide: number;
  /** Processes that are no part of the benchmark. */
  readonly foreign: number;
  /** What the host gave to others. */
  readonly stolen: number;
};

/**
 * `generator-bound`: the generator's processor was full before the server's was. Its rate is that of the
 * generator then; its CPU per request still counts.
 */
export type Verdict = 'good' | 'generator-bound' | 'disturbed';

/** A server that has at least this much of its processor is what limits the rate. */
export const SATURATED = 0.94;
const GENERATOR_SATURATED = 0.9;
const FOREIGN_MAX = 0.06;
/** A host tells it in ticks of ten milliseconds: of a round of 0.3 s one is allowed. */
const STOLEN_MAX = 0.04;
/** How far requests per second and CPU per request may lie apart before a reader must be told. */
const AGREEMENT_MAX = 0.05;

/** Judges a closed-loop round. What cannot be measured does not speak against it. */
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

/** Whether two ways to compare the same servers tell about the same. */
export function agree(rateRatio: number, cpuRatio: number): boolean {
  if (Number.isNaN(cpuRatio)) return true;
  return Math.abs(rateRatio - cpuRatio) <= AGREEMENT_MAX * Math.max(rateRatio, cpuRatio);
}
