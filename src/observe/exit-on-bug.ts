// Exit of a process when an error shows that it has a bug.

import type { Log } from './log.ts';

/**
 * Ends the process on any uncaught error from now on. Such an error leaves the process in an unknown state,
 * and a restart is better than wrong answers.
 */
export function exitOnBug(log: Log): void {
  const exit = (error: unknown): void => {
    log.fatal({ err: error }, 'unexpected error');
    process.exit(1);
  };
  process.on('uncaughtException', exit);
  process.on('unhandledRejection', exit);
}
