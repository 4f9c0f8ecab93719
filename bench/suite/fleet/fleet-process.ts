// Process that plays a fleet: does the one run it is told to, and ends with the process that started it.

import { type PlayOptions, playFleet } from './play-fleet.ts';

process.on('message', async (options: PlayOptions) => {
  await playFleet(options, (progress) => process.send?.(progress));
});
process.on('disconnect', () => process.exit(0));
