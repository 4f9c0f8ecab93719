// The load generator's process: does one run after the other, as it is told, and ends with who tells it.

import { type LoadOptions, runLoad } from './load-run.ts';

process.on('message', async (options: LoadOptions) => {
  process.send?.(await runLoad(options));
});
process.on('disconnect', () => process.exit(0));
