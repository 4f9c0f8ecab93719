// Tests what a machine with systemd has beside the units: the accounts that they run as, and the command that
// runs as these accounts.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findBinary } from './support/find-binary.ts';

const DEPLOY = join(import.meta.dirname, '..', 'deploy/systemd');

describe('deploy/systemd/sluice.conf', () => {
  const path = join(DEPLOY, 'sluice.conf');
  const accounts = [...readFileSync(path, 'utf8').matchAll(/^u (\S+)/gm)].map(([, name]) => name);

  it('makes the account of every unit', () => {
    const units = readdirSync(DEPLOY).filter((name) => name.endsWith('.service'));
    const used = units.flatMap((name) => {
      const unit = readFileSync(join(DEPLOY, name), 'utf8');
      // What systemd makes up is gone while the unit is stopped, and owns no file of root's.
      expect(unit).not.toContain('DynamicUser');
      return [...unit.matchAll(/^User=(.*)$/gm)].map(([, account]) => account);
    });
    expect(used).toHaveLength(units.length);
    expect([...new Set(used)].toSorted()).toEqual(accounts.toSorted());
  });

  const sysusers = findBinary('systemd-sysusers');
  const missing = sysusers === undefined ? ' (skipped: no systemd-sysusers on this machine)' : '';
  it.skipIf(sysusers === undefined)(`is what systemd-sysusers takes${missing}`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-sysusers-'));
    try {
      const args = [`--root=${folder}`, '--dry-run', path];
      const { status, stderr } = spawnSync(sysusers ?? '', args, { encoding: 'utf8' });
      const made = [...stderr.matchAll(/creat\w+ user '([^']+)'/gi)].map(([, name]) => name);
      expect([status, made], stderr).toEqual([0, accounts]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe('deploy/systemd/sluice', () => {
  it.each(['sluice', 'sluice-edge'])(
    'as %s runs a command with the account, the data and the settings of its unit',
    (name) => {
      const lines = readFileSync(join(DEPLOY, `${name}.service`), 'utf8').split('\n');
      const [environment = '', settings = ''] = ['Environment=', 'EnvironmentFile='].map((start) =>
        lines.find((line) => line.startsWith(start)),
      );
      const given = runWrapper(name, 0, ['move', '--to', 'postgres://a:$b c@h/d', '']);
      const shared = ['User', 'StateDirectory', 'StateDirectoryMode', 'UMask'].map(
        (key) => lines.find((line) => line.startsWith(`${key}=`)) ?? key,
      );
      for (const line of [...shared, environment]) expect(given).toContain(`--property=${line}`);
      expect(given).toContain(`--property=${settings.replace(/=-?/, '=-')}`);
      // systemd takes two dollar signs for one.
      const command = ['/usr/bin/node', '/opt/sluice/dist/cli/sluice.js'];
      const args = ['move', '--to', 'postgres://a:$$b c@h/d', ''];
      expect(given.slice(-command.length - args.length)).toEqual([...command, ...args]);
    },
  );

  it('without root is the command itself', () => {
    expect(runWrapper('sluice', 1000, ['org', 'list'])).toEqual([
      ...['/opt/sluice/dist/cli/sluice.js', 'org', 'list'],
    ]);
  });
});

/** Runs the command of deploy/systemd by a name, as an account; returns what its program is given. */
function runWrapper(name: string, uid: number, args: readonly string[]): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-command-'));
  try {
    const told = `#!/bin/sh\nprintf '%s\\n' "$@"\n`;
    writeFileSync(join(folder, 'systemd-run'), told, { mode: 0o755 });
    writeFileSync(join(folder, 'node'), told, { mode: 0o755 });
    writeFileSync(join(folder, 'id'), `#!/bin/sh\necho ${uid}\n`, { mode: 0o755 });
    const script = readFileSync(join(DEPLOY, 'sluice'), 'utf8');
    writeFileSync(join(folder, name), script.replace('exec /usr/bin/node', `exec ${folder}/node`), {
      mode: 0o755,
    });
    const PATH = `${folder}${delimiter}${process.env.PATH}`;
    const output = execFileSync(join(folder, name), args, { env: { PATH }, encoding: 'utf8' });
    return output.split('\n').slice(0, -1);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
