// Runs the service: reads the settings, starts it, prints a welcome to the terminal, and stops on a signal.

import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SessionState } from '../../contract/console.ts';
import { callOut } from '../../flow/outgoing-call.ts';
import type { HttpEngine } from '../../http/transport/engine.ts';
import type { Log } from '../../observe/log.ts';
import {
  type Config,
  ConfigError,
  consoleUrlOf,
  reachableHost,
  readConfig,
} from '../../settings/settings.ts';
import { readToken, tokenFilePath } from '../../settings/token-file.ts';
import { costOf } from '../assemble/http-engine.ts';
import { hasOwnSecrets } from '../assemble/secrets.ts';
import { runUntilSignal } from './run-until-signal.ts';
import { type RunningService, startService } from './start-service.ts';

/** Maximum number of checks whether the service is set up; the ledger may not be reachable at once. */
const SET_UP_CHECKS_MAX = 300;
const SET_UP_CHECK_INTERVAL_MS = 1000;
/** Bounds of a check and its answer, because another program may listen at the console's address. */
const SESSION_MS_MAX = 5000;
const SESSION_BYTES_MAX = 1024 * 1024;

/** Runs the service until a signal stops it; ends the process, with one line, if it cannot start. */
export async function serve(): Promise<void> {
  const config = readSettings();
  const { service, log } = await runUntilSignal(config, startService);
  const { address, port, adminPort } = service;
  const console = consoleOf(service, config);
  const admin = adminPort === undefined ? {} : { adminAddress: console.address, adminPort };
  log.info({ address, port, ...admin }, 'listening');
  const isSetUp = isSetUpAt(console);
  if (config.databaseUrl === undefined) {
    const first = { isNew: (await isSetUp) === false, isEmpty: await isEmpty(console, config) };
    const engine = engineRow(service.engine, config);
    process.stderr.write(welcome(config, address, console.address, { ...first, engine }));
  }
  if ((await isSetUp) === false) tellFirstStep(console, config, log);
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

/** `address`: base URL of the console for people. `reachable`: the one by which this machine reaches it. */
type ConsoleAddress = { readonly address: string; readonly reachable: string };

function consoleOf(service: RunningService, config: Config): ConsoleAddress {
  const { adminListen } = config;
  const host = adminListen?.host ?? config.host;
  const reachable = `http://${reachableHost(host)}:${service.adminPort ?? service.port}`;
  const fallback = adminListen === undefined ? service.address : reachable;
  return { address: consoleUrlOf(config) ?? fallback, reachable };
}

/** Returns whether the service is set up; undefined if it does not answer within five minutes. */
async function isSetUpAt({ reachable }: ConsoleAddress): Promise<boolean | undefined> {
  for (let check = 0; check < SET_UP_CHECKS_MAX; check++) {
    const session = await askSession(reachable);
    if (session !== undefined) return session.state !== 'setup';
    await sleep(SET_UP_CHECK_INTERVAL_MS, undefined, { ref: false });
  }
  return undefined;
}

/** Returns whether the service has no organization yet. */
async function isEmpty({ reachable }: ConsoleAddress, config: Config): Promise<boolean> {
  const token = config.adminTokens[0] ?? readToken(config.dataDir, 'admin-token');
  const session = await askSession(reachable, { authorization: `Bearer ${token}` });
  return session?.state === 'signedIn' && session.memberships.length === 0;
}

/**
 * Calls the console API as a browser would, because any process that serves the API can answer. Returns
 * undefined if there is no answer, or a refusal.
 */
async function askSession(
  base: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<SessionState | undefined> {
  try {
    const { status, body } = await callOut({
      ...{ url: `${base}/console/api/session`, method: 'GET', headers },
      ...{ timeoutMs: SESSION_MS_MAX, answerBytesMax: SESSION_BYTES_MAX },
    });
    return status === 200 ? (JSON.parse(body.toString('utf8')) as SessionState) : undefined;
  } catch {
    return undefined;
  }
}

/** Logs where to create the owner. */
function tellFirstStep(console: ConsoleAddress, config: Config, log: Log): void {
  const address = `${console.address}/console`;
  if (hasAdminToken(config)) {
    log.info(
      { address },
      'the service is not set up yet: create the owner there with the admin token',
    );
    return;
  }
  log.warn(
    { address },
    'the service is not set up yet: set ADMIN_TOKEN, restart, and create the owner there with it',
  );
}

/** Returns whether there is an admin token: the setting, or the one that an embedded service generates. */
function hasAdminToken(config: Config): boolean {
  return config.adminTokens.length > 0 || hasOwnSecrets(config);
}

/** Returns a row of the welcome about a slower HTTP engine that no setting asks for; '' for any other. */
function engineRow(engine: HttpEngine, config: Config): string {
  const { cost, faster } = costOf(engine, config);
  if (faster === undefined) return '';
  return `  HTTP engine   Node's own, on which ${cost}:
                ${engine.reason}.
                Nothing has to be done. ${faster}
`;
}

type Welcome = {
  /** Whether the service is not set up yet (`isNew`), and whether it has no organization (`isEmpty`). */
  readonly isNew: boolean;
  readonly isEmpty: boolean;
  /** Row about a slower HTTP engine, or ''. */
  readonly engine: string;
};

function welcome(
  config: Config,
  address: string,
  consoleAddress: string,
  { isNew, isEmpty, engine }: Welcome,
): string {
  const dataDir = resolve(config.dataDir);
  const token =
    config.adminTokens.length === 0
      ? tokenFilePath(dataDir, 'admin-token')
      : 'the one you set in ADMIN_TOKEN';
  const firstVisit = isNew ? ' (the first visit creates the owner, with the admin token)' : '';
  const next = `Next, in another terminal (README.md says how to install the command):

  sluice org create --name "My organization"

`;
  return `
Sluice is serving at ${address}

  State         ${dataDir} (embedded PostgreSQL; keep this directory, back it up)
  Hot state     ${config.redisUrl === undefined ? 'in this process' : 'Redis'}
  Admin token   ${token}
  Console       ${consoleAddress}/console${firstVisit}
${engine}
${isEmpty ? next : ''}`;
}
