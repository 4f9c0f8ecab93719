// Layouts that builds have had: the files by which each is entered. A later move of one of them gets a layout
// of its own at the top; those below stay, for commits that have them.

import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Files of a build, relative to its folder, each with the function that it must have. */
export type Layout = {
  /** Its `openLedger` is replaced. */
  readonly ledger: string;
  /** Its `startService(config, log)` starts the processes that the settings ask for. */
  readonly start: string;
  /** Its `readConfig(environment)` reads the settings. */
  readonly settings: string;
  /** Its `createLog(level)` makes a log. */
  readonly log: string;
};

const LAYOUTS: readonly Layout[] = [
  {
    ledger: 'dist/store/ledger/open-ledger.js',
    start: 'dist/node/processes/start-service.js',
    settings: 'dist/settings/settings.js',
    log: 'dist/observe/log.js',
  },
  // Version 0.3.0 and before.
  {
    ledger: 'dist/store/ledger/open-ledger.js',
    start: 'dist/node/start-service.js',
    settings: 'dist/settings/settings.js',
    log: 'dist/observe/log.js',
  },
  // Version 0.1.0 and before.
  {
    ledger: 'dist/ledger/open-ledger.js',
    start: 'dist/start-service.js',
    settings: 'dist/config.js',
    log: 'dist/observe/log.js',
  },
];

/** Returns the layout of a build; throws where none of them fits. */
export function layoutOf(folder: string): Layout {
  const found = LAYOUTS.find((layout) =>
    Object.values(layout).every((file) => existsSync(join(folder, file))),
  );
  if (found === undefined) throw new Error('its layout is in none of bench/price/layouts.ts');
  return found;
}
