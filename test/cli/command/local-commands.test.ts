// Tests the commands that ask no running service: that each has an example in its help, what `sluice move`
// prints, what a backup removes, and what the package of the command says of those that it does not have.

import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { backupFile } from '../../../src/cli/call/backup-file.ts';
import { addHelp, EXAMPLES } from '../../../src/cli/command/command-help.ts';
import { addLocalCommands } from '../../../src/cli/command/local-commands.ts';
import {
  SERVICE_COMMANDS,
  tellServiceCommands,
} from '../../../src/cli/command/service-commands.ts';
import { BuildFolder } from '../../support/build-folder.ts';
import { commandTree, runnableCommands } from '../../support/command-tree.ts';
import { runSluiceHere } from '../../support/sluice-command.ts';

describe('the help', () => {
  it('has an example of each command, and of nothing else', () => {
    const names = runnableCommands(commandTree()).map(([name]) => name);
    expect(Object.keys(EXAMPLES).toSorted()).toEqual(names.toSorted());
  });

  it('has examples that the commands take', () => {
    const program = commandTree();
    addHelp(program);
    for (const [name, command] of runnableCommands(program)) {
      const text = EXAMPLES[name] ?? '';
      const args = (text.match(/"[^"]*"|\S+/g) ?? []).map((arg) => arg.replaceAll('"', ''));
      let [isRun, help] = [false, ''];
      command.exitOverride().action(() => {
        isRun = true;
      });
      command.parse(args, { from: 'user' });
      command.configureOutput({ writeOut: (written) => (help += written) }).outputHelp();
      const example = `Example:\n  ${`sluice ${name} ${text}`.trim()}\n`;
      expect([name, isRun, help.slice(-example.length)]).toEqual([name, true, example]);
    }
  });
});

describe('sluice move', () => {
  const COPIED = { tables: 50, rows: 144, seconds: 6.6 };
  const TO = 'db.example.com:5432/sluice';
  const notAsked = () => Promise.reject(new Error('not asked'));

  /** Runs the command; `isThere` is whether an earlier run has moved the record. */
  async function move(args: readonly string[], isThere = false): Promise<string> {
    const { code, stdout, stderr } = await runSluiceHere(['move', ...args], {}, (program) =>
      addLocalCommands(program, {
        ...{ diagnose: notAsked, edge: notAsked, migrate: notAsked },
        move: async (_to, isDryRun) => ({ ...COPIED, to: TO, moved: isThere || !isDryRun }),
        undoMove: async () => true,
      }),
    );
    expect([code, stderr]).toEqual([0, '']);
    return stdout;
  }

  it('says of a dry run that nothing has moved, and where to it would, or that it is there', async () => {
    expect((await move(['--dry-run'])).split('\n')).toEqual([
      ...['tables: 50', 'rows: 144', 'seconds: 6.6'],
      `Nothing has moved: this was a dry run to PostgreSQL at ${TO}, and what it wrote there is taken back.`,
      '',
    ]);
    const json = JSON.parse(await move(['--dry-run', '--json']));
    expect(json).toEqual({ ...COPIED, to: TO, moved: false });
    const again = await move(['--dry-run'], true);
    expect(again).toContain(`This record is in PostgreSQL at ${TO} already`);
    expect(again).not.toContain('Nothing has moved');
  });

  it('says where the record is now, and what comes next; and that it is undone', async () => {
    const next = `\nMoved to PostgreSQL at ${TO}.\n\nStart the service with that`;
    expect(await move([])).toContain(next);
    expect(JSON.parse(await move(['--json']))).toEqual({ ...COPIED, to: TO, moved: true });
    expect(await move(['--undo'])).toMatch(/^The move is undone: [^\n]+\n$/);
    expect(await move(['--undo', '--json'])).toBe('{"undone":true}\n');
  });
});

describe('a backup', () => {
  const folder = new BuildFolder();
  /** Packs a directory of the folder that has one file. */
  const pack = (name: string, content: string) => {
    const directory = join(folder.path, name);
    mkdirSync(directory);
    writeFileSync(join(directory, content), '');
    return backupFile(join(folder.path, 'file'), async () => ({ directory }));
  };

  it('removes the copy that the service made for it', async () => {
    expect((await pack('backup', 'ledger.copy')).bytes).toBeGreaterThan(0);
    expect(existsSync(join(folder.path, 'backup'))).toBe(false);
  });

  it.each(['photos', 'backup'])('leaves a directory %s that is no copy as it is', async (name) => {
    await expect(pack(name, 'kept')).rejects.toThrow('is no copy of a ledger');
    expect(existsSync(join(folder.path, name, 'kept'))).toBe(true);
    expect(existsSync(join(folder.path, 'file'))).toBe(false);
  });
});

describe('a command of the service, where only the package of the command is', () => {
  const run = (...args: string[]) => runSluiceHere(args, {}, tellServiceCommands);

  it('is one that asks no running service', async () => {
    const { stdout } = await runSluiceHere(['--help'], {});
    const asking = [...stdout.matchAll(/^ {2}([a-z-]+)[ \n]/gm)].map(([, name]) => name);
    const all = commandTree().commands.map((command) => command.name());
    expect([...SERVICE_COMMANDS]).toEqual(all.filter((name) => !asking.includes(name)));
  });

  it.each([...SERVICE_COMMANDS])('%s: says where it runs, with code 2', async (name) => {
    const place = `run it where Sluice is installed, node dist/cli/sluice\\.js ${name}`;
    const stderr = expect.stringMatching(`^sluice: ${name} .*: ${place}\\n$`);
    for (const more of [[], ['--json'], ['--help'], ['--to', 'postgres://x', 'y']]) {
      expect(await run(name, ...more), more.join(' ')).toEqual({ code: 2, stdout: '', stderr });
    }
  });

  it('stands in the help, and any other name is unknown as before', async () => {
    const { stdout } = await run('--help');
    expect(stdout).toMatch(/^Not in this package: serve, edge, doctor, migrate, move\./m);
    expect(stdout).toContain('node dist/cli/sluice.js COMMAND');
    expect(stdout).not.toMatch(/^ {2}doctor/m);
    const stderr = expect.stringMatching(/^sluice: unknown command 'docktor'/);
    expect(await run('docktor')).toEqual({ code: 2, stdout: '', stderr });
  });
});
