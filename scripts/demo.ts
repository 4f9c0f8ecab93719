// Runs the demo (`npm run demo`): the embedded service, an organization whose app has two weeks of history, a
// rollout under way and one that was stopped, and a fleet that polls, updates and lags like a real one.
// Everything lies in a temporary directory that is removed at the end.

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runDemoFleet } from './demo-fleet.ts';
import { writeDemoHistory } from './demo-history.ts';
import { BAD_VERSION, GOOD_VERSION } from './demo-releases.ts';

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const EMAIL = 'release.manager@example.com';

const password = randomBytes(9).toString('base64url');
const dataDir = await mkdtemp(join(tmpdir(), 'sluice-demo-'));
process.stdout.write('Writing two weeks of history…\n');
const fleet = await writeDemoHistory(dataDir, { email: EMAIL, password });

const service = spawn(process.execPath, [MAIN], {
  env: {
    ...process.env,
    ...{ DATA_DIR: dataDir, DATABASE_URL: '', REDIS_URL: '', WORKERS: '1' },
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
void ended.then(async (code) => {
  stopping.abort();
  await rm(dataDir, { recursive: true, force: true });
  if (code !== 0) process.stderr.write(errors);
  process.exit(code);
});

const address = await listening();
process.stdout.write(`
The console      ${address}/console
Sign in as       ${EMAIL}
Password         ${password}

${fleet.devices.length.toLocaleString('en')} devices of "Acme Notes" poll it.
On stable, the plan of ${GOOD_VERSION} has reached 20 %: begin its next step, and watch them follow.
On beta, a guard has stopped ${BAD_VERSION}: see where its trouble is, and decide.
Ctrl+C ends the demo and removes what it wrote.

`);
await runDemoFleet(address, fleet, stopping.signal);

/** Returns the address in the log line by which the service says that it listens. */
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
  throw new Error(`The service did not start:\n${errors}`);
}
