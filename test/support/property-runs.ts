// Sets the number of runs of properties that name none of their own: 10,000 with SLUICE_MATRIX=all, and
// 200 elsewhere, each time from another seed. Properties whose runs are expensive name a number.

import fc from 'fast-check';
import { IS_WHOLE_MATRIX } from './matrix.ts';

/** Number of runs of a property that names none of its own. */
export const PROPERTY_RUNS = IS_WHOLE_MATRIX ? 10_000 : 200;

fc.configureGlobal({ numRuns: PROPERTY_RUNS });
