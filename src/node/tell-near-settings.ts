// Warning of variables that an operator may have meant as settings.

import type { Log } from '../observe/log.ts';
import { readNearSettings } from '../settings/settings.ts';

/** Names the variables that look like a misspelt setting: nothing else would tell that they are not read. */
export function tellNearSettings(log: Log): void {
  const names = Object.fromEntries(readNearSettings().map(({ name, setting }) => [name, setting]));
  if (Object.keys(names).length > 0) {
    log.warn({ names }, 'names in the environment look like settings, and are not read');
  }
}
