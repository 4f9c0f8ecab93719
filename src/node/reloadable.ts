// Change of the settings of a process while it runs: its secrets, and the addresses of its stores.

import type { Log } from '../observe/log.ts';
import type { Config } from '../settings/settings.ts';
import type { Secrets } from './secrets.ts';
import type { Stores } from './stores.ts';

/** Returns a function that makes a process use other settings. It never rejects; a failure is logged. */
export function reloadable(
  log: Log,
  secrets: Pick<Secrets, 'use'> | undefined,
  stores: Pick<Stores, 'use'>,
): (config: Config) => Promise<void> {
  return async (config) => {
    try {
      await secrets?.use(config);
      await stores.use(config);
    } catch (error) {
      log.error({ err: error }, 'changed settings could not be taken over');
    }
  };
}
