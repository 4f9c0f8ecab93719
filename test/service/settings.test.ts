// Tests starting the service by settings (docs/operating/settings.md): a wrong setting stops the start with
// one line that names the variable, secrets are never printed, stdout is JSON lines and stderr is for people.
// What an embedded start says to people is in embedded.test.ts.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { describeOnBackends } from '../support/backend.ts';
import { baseEnvironment } from '../support/base-environment.ts';
import { eventually } from '../support/eventually.ts';
import { findBinary } from '../support/find-binary.ts';
import { freePort } from '../support/free-port.ts';
import { ADMIN_TOKEN, type NodeSettings } from '../support/node.ts';
import { removeFolder, temporaryFolder } from '../support/server-process.ts';
import { SLUICE_COMMAND } from '../support/sluice-command.ts';
import { admin, randomId, send, Tenant } from '../support/tenant.ts';
import { WORKERS_ONLY } from '../support/worker-node.ts';

type Run = {
  readonly child: ChildProcess;
  stdout: string;
  stderr: string;
  /** Exit code of the process; undefined while it runs. */
  exitCode: number | null | undefined;
};

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
/** Arguments of setpriv that take from root the right to pass over the modes of files. */
const OBEYING_MODES = ['--bounding-set=-dac_override,-dac_read_search', '--inh-caps=-all'];
/** A database that no client can reach: the service starts and waits for it, which is all most tests need. */
const AWAY = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' };

let dataDir: string;
let runs: Run[];
beforeEach(() => {
  dataDir = temporaryFolder('sluice-settings-');
  runs = [];
});
afterEach(async () => {
  for (const { child } of runs) child.kill('SIGKILL');
  await eventually('every started process is gone', () =>
    runs.every(({ exitCode }) => exitCode !== undefined),
  );
  removeFolder(dataDir);
});

/** Starts the service with its own stdout and stderr; nothing of the test's environment reaches it. */
function start(
  settings: NodeSettings,
  command: readonly string[] = [MAIN],
  program = process.execPath,
): Run {
  const env = { ...baseEnvironment(), PORT: '0', DATA_DIR: dataDir, ...settings };
  const child = spawn(program, command, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const run: Run = { child, stdout: '', stderr: '', exitCode: undefined };
  child.stdout.on('data', (chunk: Buffer) => {
    run.stdout += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    run.stderr += chunk.toString();
  });
  child.once('close', (code) => {
    run.exitCode = code;
  });
  runs.push(run);
  return run;
}

async function ended(run: Run): Promise<Run> {
  await eventually('the process ends', () => run.exitCode !== undefined);
  return run;
}

/** The port a started service listens on. */
async function listening(run: Run): Promise<number> {
  const line = () => run.stdout.split('\n').find((each) => each.includes('"listening"'));
  await eventually('it listens', () => line() !== undefined || run.exitCode !== undefined);
  expect(run.exitCode, run.stderr).toBeUndefined();
  return (JSON.parse(line() ?? '{}') as { port: number }).port;
}

/** Expects that a start is refused with a non-zero exit code and one line, told once; returns that line. */
async function refused(settings: NodeSettings): Promise<string> {
  const run = await ended(start(settings));
  expect(run.exitCode).toBe(1);
  expect(run.stderr).toMatch(/^sluice: [^\n]+\n$/);
  expect(run.stdout).not.toContain('cannot start');
  return run.stderr;
}

describe('a wrong setting stops the start with one line that names it (Environment)', () => {
  // One example of each way in which a setting is found wrong. All refused values, and the secrets that the
  // lines leave out, are in test/settings.
  it.each<[variable: string, value: string]>([
    // An address for documentation (RFC 5737): no machine has it.
    ['HOST', '192.0.2.1'],
    ['REDIS_URL', 'redis://:%zz@127.0.0.1:6379'],
  ])('%s=%j', async (variable, value) => {
    const line = await refused({ ...AWAY, [variable]: value });
    expect(line).toContain(variable);
    expect(line).not.toContain('%zz');
  });

  it('DATA_DIR that another account may write to, and this one may not', async ({ skip }) => {
    const isRoot = process.getuid?.() === 0;
    const setpriv = findBinary('setpriv');
    if (isRoot && setpriv === undefined)
      return skip('root, and no setpriv that makes it obey modes');
    await chmod(dataDir, 0o500);
    const [program = '', ...args] = isRoot
      ? [setpriv, ...OBEYING_MODES, process.execPath]
      : [process.execPath];
    const run = await ended(start(AWAY, [...args, MAIN], program));
    expect(run.exitCode).toBe(1);
    expect(run.stderr).toBe(`sluice: DATA_DIR: ${dataDir} may not be written to by this account\n`);
  });

  it('DATA_DIR on a full disk, whose room a start that is refused does not take', async ({
    skip,
  }) => {
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', dataDir]);
    if (mounted.status !== 0) return skip('no right to mount a small disk');
    try {
      const inWords = 'sluice: DATA_DIR: has no room left on its disk: make room\n';
      expect(await refused({})).toBe(inWords);
      expect(readdirSync(dataDir)).not.toContain('ledger.draft');
    } finally {
      spawnSync('umount', [dataDir]);
    }
  });

  it.skipIf(WORKERS_ONLY !== '')(
    `a port that is in use, also of several workers, which all find it: still one line${WORKERS_ONLY}`,
    async () => {
      const workers = { ...AWAY, REDIS_URL: 'redis://127.0.0.1:1', WORKERS: '2' };
      const port = await listening(start(workers));
      expect(await refused({ ...workers, PORT: String(port) })).toContain(
        `HOST, PORT: cannot listen on 127.0.0.1:${port}`,
      );
      expect((await send({ url: `http://127.0.0.1:${port}` }, 'GET', '/healthz')).status).toBe(200);
    },
  );
});

describe('settings that are right (Environment)', () => {
  it('HOST decides on which address sluice serve listens, until it is stopped (Command line)', async () => {
    const run = start({ ...AWAY, HOST: '127.0.0.2' }, [SLUICE_COMMAND, 'serve']);
    const port = await listening(run);
    expect((await send({ url: `http://127.0.0.2:${port}` }, 'GET', '/healthz')).status).toBe(200);
    await expect(fetch(`http://127.0.0.1:${port}/healthz`)).rejects.toThrow();
    expect(run.stdout).not.toContain('look like settings');
    run.child.kill('SIGTERM');
    expect((await ended(run)).exitCode).toBe(0);
  });

  it('dist/main.js tells its version and its usage, refuses other arguments, and starts nothing', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    const told = ['--version', '--help', '--vresion'].map(async (argument) => {
      const { exitCode, stdout, stderr } = await ended(start({}, [MAIN, argument]));
      return [exitCode, stdout + stderr];
    });
    expect(await Promise.all(told)).toEqual([
      [0, expect.stringContaining(version)],
      [0, expect.stringMatching(/^Usage: node dist\/main\.js\n/)],
      [2, expect.stringMatching(/^sluice: [^\n]+\n$/)],
    ]);
    expect(existsSync(join(dataDir, 'ledger'))).toBe(false);
  });

  it('LOG_LEVEL=silent: nothing is printed, not even that it listens', async () => {
    const port = await freePort();
    const run = start({ ...AWAY, LOG_LEVEL: 'silent', PORT: String(port) });
    const isUp = () =>
      fetch(`http://127.0.0.1:${port}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      );
    await eventually('it answers', isUp);
    run.child.kill('SIGTERM');
    await ended(run);
    expect(run.stdout + run.stderr).toBe('');
  });
});

describeOnBackends('output', (backend) => {
  it('of a node that is used in many ways is JSON lines without a secret, and none for a request (Environment)', async () => {
    const [adminToken, secretKey] = ['admin-s3cret-1', 'secret-key-s3cret-2'];
    const settings = { LOG_LEVEL: 'trace', ADMIN_TOKEN: adminToken, SECRET_KEY: secretKey };
    const node = await backend.start(settings);
    onTestFinished(() => node.dispose());
    const headers = { authorization: `Bearer ${adminToken}` };
    const console = (path: string, body: unknown) =>
      send(node, 'POST', `/console/api/${path}`, { headers, body });
    const org = (await console('organizations', { name: 'A' })).body?.id;
    const app = `app-${randomId()}`;
    expect((await console('apps', { org, ref: app, name: 'A' })).status).toBe(201);
    const secret = String((await console('keys', { org, name: 'k' })).body?.secret);
    const release = { app, channel: 'stable', version: '1.1.0', notes: 'two\nlines' };
    const tenant = new Tenant(node, { app, secret });
    expect((await tenant.manage('POST', 'releases', release)).status).toBe(201);
    await tenant.manage('POST', 'releases', '{');
    await tenant.with({ secret: `${secret}x` }).manage('GET', 'apps');
    await admin(node, 'GET', 'audit');
    await tenant.check('1.0.0');
    await tenant.check('x\ny');
    await node.stop();
    const output = node.output();
    // The output has stdout and stderr mixed; lines of stderr do not begin with a brace.
    const lines = output.split('\n').filter((line) => line.startsWith('{'));
    expect(lines.length).toBeGreaterThan(2);
    const text = expect.any(String);
    for (const line of lines) {
      const level = expect.stringMatching(/^[a-z]+$/);
      expect(JSON.parse(line)).toMatchObject({ level, time: text, msg: text });
    }
    expect(output).not.toContain('"msg":"request"');
    for (const told of [adminToken, secretKey, secret]) expect(output).not.toContain(told);
  });
});

describe('a service whose stores cannot be reached', () => {
  it('talks about them, and about misspelt settings, without their secrets, as JSON lines on stdout alone (Environment)', async () => {
    const port = await freePort();
    const run = start({
      LOG_LEVEL: 'trace',
      ADMIN_TOKEN,
      DATABASE_URL: `postgres://someone:db-s3cret-3@127.0.0.1:${port}/sluice`,
      REDIS_URL: `redis://someone:redis-s3cret-4@127.0.0.1:${port}`,
      ...{ REDIS_URI: 'redis://:s3cret@h', ADMINTOKEN: 's3cret', SLUICE_SECRET_KEY: 's3cret' },
      ...{ HOSTNAME: 'pod-1', REDIS_PORT: 'tcp://10.0.0.1:6379' },
    });
    const node = { url: `http://127.0.0.1:${await listening(run)}` };
    expect((await admin(node, 'POST', 'organizations', { name: 'A' })).status).toBe(503);
    expect((await send(node, 'GET', '/u/a/b/c/d/1')).status).toBe(503);
    run.child.kill('SIGTERM');
    expect((await ended(run)).exitCode).toBe(0);
    expect(run.stdout).toContain('ECONNREFUSED');
    expect(run.stdout + run.stderr).not.toMatch(/s3cret/);
    expect(run.stdout + run.stderr).not.toContain(ADMIN_TOKEN);
    expect(run.stderr).toBe('');
    for (const line of run.stdout.trimEnd().split('\n'))
      expect(JSON.parse(line)).toHaveProperty('msg');
    // Names close to a setting are named in one warning.
    const warnings = run.stdout.split('\n').filter((line) => line.includes('look like settings'));
    expect(warnings).toHaveLength(1);
    expect(JSON.parse(warnings[0] ?? '')).toMatchObject({
      level: 'warn',
      names: { REDIS_URI: 'REDIS_URL', ADMINTOKEN: 'ADMIN_TOKEN', SLUICE_SECRET_KEY: 'SECRET_KEY' },
    });
  });
});
