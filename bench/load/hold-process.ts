// Process that holds connections: does the runs it is told to, and ends with the process that started it.

import { type HoldOptions, holdConnections } from './hold-connections.ts';

process.on('message', async (options: HoldOptions) => {
  process.send?.(await holdConnections(options));
});
process.on('disconnect', () => process.exit(0));
