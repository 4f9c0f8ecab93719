// The switch of `npm run test:all`: tests then take the long times and counts, and those run that only repeat
// in another way what shorter ones show.

/** Whether tests take their time: SLUICE_FULL=1. */
export const IS_FULL = process.env.SLUICE_FULL === '1';

/** End of the title of a test that runs in full alone: says why it is skipped. */
export const FULL_ONLY = IS_FULL ? '' : ' (skipped: takes long, SLUICE_FULL=1 runs it)';
