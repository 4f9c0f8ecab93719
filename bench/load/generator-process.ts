// Process of the load generator: does the runs it is told to, one after the other, and ends with the process
// that started it.

import type { LoadOptions } from './load-run.ts';
import { runLoad } from './run-load.ts';

process.on('message', async (options: LoadOptions) => {
  process.send?.(await runLoad(options));
});
process.on('disconnect', () => process.exit(0));
