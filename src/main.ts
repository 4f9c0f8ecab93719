// Entry point of the service: reads the settings, starts the service, prints to the terminal and stops on a
// signal.

import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runUntilSignal } from './node/run-until-signal.ts';
import { hasOwnSecrets } from './node/secrets.ts';
import { type RunningService, startService } from './node/start-service.ts';
import type { Log } from './observe/log.ts';
import {
  type Config,
  ConfigError,
  consoleUrlOf,
  reachableHost,
  readConfig,
} from './settings/settings.ts';
import { tokenFilePath } from './settings/token-file.ts';

/** Maximum number of questions whether the service is set up; the ledger may not be reachable yet. */
const SET_UP_CHECKS_MAX = 300;
const SET_UP_CHECK_INTERVAL_MS = 1000;

/** Runs until a signal stops it. */
async function main(): Promise<void> {
  const config = readSettings();
  const { service, log } = await runUntilSignal(config, startService);
  const { address, port, adminPort } = service;
  const console = consoleOf(service, config);
  const admin = adminPort === undefined ? {} : { adminAddress: console.address, adminPort };
  log.info({ address, port, ...admin }, 'listening');
  if (config.databaseUrl === undefined) {
    process.stderr.write(welcome(config, address, console.address));
  }
  await tellFirstStep(console, config, log);
}

function readSettings(): Config {
  try {
    return readConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`sluice: ${error.message}\n`);
    process.exit(1);
  }
}

/** Base URL of the console for people, and the one under which this machine reaches it. */
type ConsoleAddress = { readonly address: string; readonly reachable: string };

function consoleOf(service: RunningService, config: Config): ConsoleAddress {
  const { adminListen } = config;
  const host = adminListen?.host ?? config.host;
  const reachable = `http://${reachableHost(host)}:${service.adminPort ?? service.port}`;
  const fallback = adminListen === undefined ? service.address : reachable;
  return { address: consoleUrlOf(config) ?? fallback, reachable };
}

/** Logs where to create the owner, if the service has no account yet. */
async function tellFirstStep(console: ConsoleAddress, config: Config, log: Log): Promise<void> {
  // The console API is asked as a browser would ask it, because every process that has it can answer.
  const url = `${console.reachable}/console/api/session`;
  for (let check = 0; check < SET_UP_CHECKS_MAX; check++) {
    const response = await fetch(url).catch(() => undefined);
    const session = response?.ok ? ((await response.json()) as { state?: string }) : undefined;
    if (session?.state === 'setup') {
      const address = `${console.address}/console`;
      if (hasAdminToken(config)) {
        log.info(
          { address },
          'nobody has an account yet: create the owner there with the admin token',
        );
      } else {
        log.warn(
          { address },
          'nobody has an account yet: set ADMIN_TOKEN, restart, and create the owner there with it',
        );
      }
    }
    if (session !== undefined) return;
    await sleep(SET_UP_CHECK_INTERVAL_MS, undefined, { ref: false });
  }
}

/** Returns whether there is an admin token: the setting, or the one that an embedded service generates. */
function hasAdminToken(config: Config): boolean {
  return config.adminTokens.length > 0 || hasOwnSecrets(config);
}

function welcome(config: Config, address: string, consoleAddress: string): string {
  const dataDir = resolve(config.dataDir);
  const token =
    config.adminTokens.length === 0
      ? tokenFilePath(dataDir, 'admin-token')
      : 'the one you set in ADMIN_TOKEN';
  return `
Sluice is serving at ${address}

  State         ${dataDir} (embedded PostgreSQL; keep this directory, back it up)
  Hot state     ${config.redisUrl === undefined ? 'in this process' : 'Redis'}
  Admin token   ${token}
  Console       ${consoleAddress}/console (the first visit creates the owner, with the admin token)

Next, in another terminal (README.md says how to install the command):

  sluice org create --name "My organization"

`;
}

await main();
