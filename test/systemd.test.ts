// Tests what a machine with systemd gets of deploy/systemd: units, by systemd's own programs, the accounts
// that they run as, and the command that runs as these accounts.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { findBinary } from './support/find-binary.ts';

const DEPLOY = join(import.meta.dirname, '..', 'deploy/systemd');
/** Exposure of ten that systemd finds in a service at most, in tenths. */
const EXPOSURE_MAX = 20;

const folder = mkdtempSync(join(tmpdir(), 'sluice-systemd-'));
afterAll(() => rmSync(folder, { recursive: true }));

const read = (name: string) => readFileSync(join(DEPLOY, name), 'utf8');
const linesOf = (name: string) => read(`${name}.service`).split('\n');
const skipped = (program: string, path?: string) =>
  path === undefined ? ` (skipped: no ${program} on this machine)` : '';

it.each([
  ['sluice', 'dist/main.js', '-/etc/sluice/sluice.env'],
  ['sluice-edge', 'dist/cli/sluice.js edge', '/etc/sluice/edge.env'],
])('%s starts as npm start does, as its account', (name, program, settings) => {
  const { scripts } = JSON.parse(read('../../package.json')) as { scripts: { start: string } };
  const start = scripts.start.replace('dist/main.js', `/opt/sluice/${program}`);
  expect(linesOf(name)).toEqual(
    expect.arrayContaining([
      `ExecStart=/usr/bin/${start}`,
      ...[`User=${name}`, `StateDirectory=${name}`, 'StateDirectoryMode=0700', 'UMask=0077'],
      ...[`WorkingDirectory=/var/lib/${name}`, `EnvironmentFile=${settings}`],
      `Environment=NODE_ENV=production DATA_DIR=/var/lib/${name}`,
      ...['NoNewPrivileges=yes', 'ProtectSystem=strict', 'CapabilityBoundingSet='],
      ...['KillMode=mixed', 'ExecReload=/bin/kill -HUP $MAINPID', 'Restart=always'],
      'TimeoutStopSec=15',
    ]),
  );
});

it('a backup runs as the account of the service, which it reads the settings of', () => {
  const shared = linesOf('sluice').filter((line) =>
    /^(Environment|EnvironmentFile|UMask)=/.test(line),
  );
  expect(shared).toHaveLength(3);
  expect(linesOf('sluice-backup')).toEqual(expect.arrayContaining(['User=sluice', ...shared]));
});

const analyze = findBinary('systemd-analyze');
it
  .skipIf(analyze === undefined)
  .each([
    [['sluice.service']],
    [['sluice-edge.service']],
    [['sluice-backup.service', 'sluice-backup.timer']],
  ])(`%j is taken, and hardly exposed${skipped('systemd-analyze', analyze)}`, (names) => {
  for (const name of names) {
    writeFileSync(join(folder, name), read(name).replaceAll('/usr/bin/node', process.execPath));
  }
  const [service = '', ...others] = names.map((name) => join(folder, name));
  const args = ['verify', '--man=no', service, ...others];
  const { status, stderr } = spawnSync(String(analyze), args, { encoding: 'utf8' });
  // Of the units themselves: systemd also reads, and judges, the units of the machine.
  const isOwn = (line: string) => names.some((name) => line.includes(name));
  expect([status, stderr.split('\n').filter(isOwn)]).toEqual([0, []]);
  const limits = [`--threshold=${EXPOSURE_MAX}`, '--offline=true', '--no-pager'];
  execFileSync(String(analyze), ['security', ...limits, service]);
});

describe('sluice.conf', () => {
  const accounts = [...read('sluice.conf').matchAll(/^u (\S+)/gm)].map(([, name]) => name);

  it('makes the account of every unit', () => {
    const units = readdirSync(DEPLOY).filter((name) => name.endsWith('.service'));
    const texts = units.map(read);
    // What systemd makes up is gone while the unit is stopped, and owns no file of root's.
    for (const text of texts) expect(text).not.toContain('DynamicUser');
    const used = texts.flatMap((text) =>
      [...text.matchAll(/^User=(.*)$/gm)].map(([, name]) => name),
    );
    expect(used).toHaveLength(units.length);
    expect([...new Set(used)].toSorted()).toEqual(accounts.toSorted());
  });

  const sysusers = findBinary('systemd-sysusers');
  const title = `is what systemd-sysusers takes${skipped('systemd-sysusers', sysusers)}`;
  it.skipIf(sysusers === undefined)(title, () => {
    const args = [`--root=${folder}`, '--dry-run', join(DEPLOY, 'sluice.conf')];
    const { status, stderr } = spawnSync(String(sysusers), args, { encoding: 'utf8' });
    const made = [...stderr.matchAll(/creat\w+ user '([^']+)'/gi)].map(([, name]) => name);
    expect([status, made], stderr).toEqual([0, accounts]);
  });
});

describe('the command', () => {
  it.each(['sluice', 'sluice-edge'])('as %s has what its unit has', (name) => {
    const args = ['move', '--to', 'postgres://a:$b c@h/d', ''];
    const given = runWrapper(name, 0, args);
    const keys = /^(User|StateDirectory|StateDirectoryMode|UMask|Environment|EnvironmentFile)=/;
    const shared = linesOf(name).filter((line) => keys.test(line));
    expect(shared).toHaveLength(6);
    for (const line of shared) {
      const property = line.replace(/^(EnvironmentFile=)-?/, '$1-');
      expect(given).toContain(`--property=${property}`);
    }
    const command = ['/usr/bin/node', '/opt/sluice/dist/cli/sluice.js'];
    // systemd takes two dollar signs for one.
    const escaped = args.map((arg) => arg.replace('$', '$$$$'));
    expect(given.slice(-command.length - args.length)).toEqual([...command, ...escaped]);
  });

  it('without root is the command itself', () => {
    const command = ['/opt/sluice/dist/cli/sluice.js', 'org', 'list'];
    expect(runWrapper('sluice', 1000, ['org', 'list'])).toEqual(command);
  });

  /** Runs the command by a name, as an account; returns what its program is given. */
  function runWrapper(name: string, uid: number, args: readonly string[]): string[] {
    const told = `#!/bin/sh\nprintf '%s\\n' "$@"\n`;
    const script = read('sluice').replace('exec /usr/bin/node', `exec ${folder}/node`);
    const id = `#!/bin/sh\necho ${uid}\n`;
    const programs = { 'systemd-run': told, node: told, id, [name]: script };
    for (const [file, text] of Object.entries(programs)) {
      writeFileSync(join(folder, file), text, { mode: 0o755 });
    }
    const env = { PATH: `${folder}${delimiter}${process.env.PATH}` };
    const output = execFileSync(join(folder, name), args, { env, encoding: 'utf8' });
    return output.split('\n').slice(0, -1);
  }
});
