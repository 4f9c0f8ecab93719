// Sets the number of runs of properties that name none of their own: 3,000 with SLUICE_FULL=1, 1,000 in
// CI and fewer elsewhere. Properties whose runs are expensive name a number.

import fc from 'fast-check';
import { IS_FULL } from './full-run.ts';

const RUNS_ELSEWHERE = process.env.CI === undefined ? 500 : 1000;

/** Number of runs of a property that names none of its own. */
export const PROPERTY_RUNS = IS_FULL ? 3000 : RUNS_ELSEWHERE;

fc.configureGlobal({ numRuns: PROPERTY_RUNS });
