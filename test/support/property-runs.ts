// Sets the number of runs of properties that name none of their own: thousands in CI and where
// SLUICE_PROPERTY_RUNS is `all`, fewer elsewhere. Properties whose runs are expensive name a number.

import fc from 'fast-check';

const isThorough = process.env.CI !== undefined || process.env.SLUICE_PROPERTY_RUNS === 'all';

/** Number of runs of a property that names none of its own. */
export const PROPERTY_RUNS = isThorough ? 10_000 : 500;

fc.configureGlobal({ numRuns: PROPERTY_RUNS });
