// Runs the demo (`npm run demo`): the embedded service, an organization whose apps have two weeks of history,
// rollouts under way and one that was stopped, and fleets that poll, update and lag like real ones.
// Everything lies in a temporary directory that is removed at the end.

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ProgressLine } from '../src/cli/print/progress-line.ts';
import { claimPort } from '../src/node/processes/node-calls.ts';
import { ConfigError, readConfig } from '../src/settings/settings.ts';
import { checkForUpdate, runDemoFleet } from './demo-fleet.ts';
import { GATEWAY, pollByDdi } from './demo-gateways.ts';
import { writeDemoHistory } from './demo-history.ts';
import { BAD_VERSION, GOOD_VERSION } from './demo-releases.ts';

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const EMAIL = 'release.manager@example.com';
/** Time between two lines of progress where stdout is no terminal. */
const PROGRESS_MS = 10_000;
const USAGE = `Usage: npm run demo

Runs the embedded service with two weeks of history, of an organization whose fleets go on asking: a minute
to write, and more on a busy machine, some 170 MB in the temporary directory, which are removed at the end.

HOST and PORT say where it listens (default: 127.0.0.1, 8080), as for the service.
`;

const [argument] = process.argv.slice(2);
if (argument !== undefined) {
  const isHelp = argument === '--help' || argument === '-h';
  if (isHelp) process.stdout.write(USAGE);
  else process.stderr.write(`demo: unknown argument ${argument} (run with --help for the usage)\n`);
  process.exit(isHelp ? 0 : 2);
}
const environment = { ...process.env, DATABASE_URL: '', REDIS_URL: '', WORKERS: '1' };
await refuseTakenPort();

const password = randomBytes(9).toString('base64url');
const dataDir = mkdtempSync(join(tmpdir(), 'sluice-demo-'));
// However this process ends: the database of a history that is not finished may be writing still.
process.on('exit', () => rmSync(dataDir, { recursive: true, force: true, maxRetries: 10 }));
const stopWriting = (): never => process.exit(1);
process.on('SIGINT', stopWriting).on('SIGTERM', stopWriting);
process.stdout.write('Writing two weeks of history: a minute, and more on a busy machine.\n');
const progress = new ProgressLine(process.stdout, PROGRESS_MS);
const fleets = await writeDemoHistory(dataDir, { email: EMAIL, password }, (what) =>
  progress.show(`writing ${what}…`),
);
progress.clear();
process.off('SIGINT', stopWriting).off('SIGTERM', stopWriting);

const service = spawn(process.execPath, [MAIN], {
  env: {
    ...{ ...environment, DATA_DIR: dataDir },
    // The whole fleet asks from this machine.
    ...{ NEW_DEVICES_PER_ADDRESS_PER_MINUTE: '0', NEW_DEVICES_PER_APP_PER_MINUTE: '0' },
  },
  stdio: ['ignore', 'pipe', 'pipe'],
});
let errors = '';
service.stderr.on('data', (chunk: Buffer) => {
  errors = (errors + chunk.toString()).slice(-2000);
});
const stopping = new AbortController();
const ended = new Promise<number>((resolve) => service.on('exit', (code) => resolve(code ?? 1)));
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    stopping.abort();
    service.kill('SIGTERM');
  });
}
void ended.then((code) => {
  stopping.abort();
  if (code !== 0) process.stderr.write(errors);
  process.exit(code);
});

const address = await listening();
process.stdout.write(`
The console      ${address}/console
Sign in as       ${EMAIL}
Password         ${password}

${fleets.notes.length.toLocaleString('en')} devices of "Acme Notes" poll it.
On stable, the plan of ${GOOD_VERSION} has reached 20 %: begin its next step, and watch them follow.
On beta, a guard has stopped ${BAD_VERSION}: see where its trouble is, and decide.
${fleets.gateways.length} devices of "Acme Gateway" poll by DDI.
The plan of ${GATEWAY.plannedVersion} has reached 50 %: see who installs it, and why some do not.
Ctrl+C ends the demo and removes what it wrote.

`);
const { signal } = stopping;
await Promise.all([
  runDemoFleet(fleets.notes, (device) => checkForUpdate(address, device), signal),
  runDemoFleet(fleets.gateways, (device) => pollByDdi(address, device), signal),
]);

/** Ends the demo before it writes anything if the service could not listen. */
async function refuseTakenPort(): Promise<void> {
  try {
    const { host, port } = readConfig(environment);
    await claimPort(host, port);
  } catch (error) {
    const isKnown = error instanceof ConfigError;
    const reason = error instanceof Error ? error.message : String(error);
    process.stderr.write(`demo: ${isKnown ? '' : 'HOST, PORT: '}${reason}\n`);
    process.exit(1);
  }
}

/** Returns the address in the log line by which the service says that it listens, once it does. */
async function listening(): Promise<string> {
  let output = '';
  for await (const chunk of service.stdout) {
    output += String(chunk);
    const line = output.split('\n').find((each) => each.includes('"listening"'));
    if (line !== undefined && output.indexOf(line) + line.length < output.length) {
      service.stdout.resume();
      return (JSON.parse(line) as { address: string }).address;
    }
  }
  // It did not start, and says why once it has ended.
  return process.exit(await ended);
}
