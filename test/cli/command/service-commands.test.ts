// Tests what the package of the command says of the commands that run where the service does.

import { describe, expect, it } from 'vitest';
import {
  SERVICE_COMMANDS,
  tellServiceCommands,
} from '../../../src/cli/command/service-commands.ts';
import { commandTree } from '../../support/command-tree.ts';
import { runSluiceHere } from '../../support/sluice-command.ts';

const run = (...args: string[]) => runSluiceHere(args, {}, tellServiceCommands);

describe('a command of the service, where only the package of the command is', () => {
  it('is one that asks no running service', async () => {
    const { stdout } = await runSluiceHere(['--help'], {});
    const asking = [...stdout.matchAll(/^ {2}([a-z-]+)[ \n]/gm)].map(([, name]) => name);
    const all = commandTree().commands.map((command) => command.name());
    expect([...SERVICE_COMMANDS]).toEqual(all.filter((name) => !asking.includes(name)));
  });

  it.each([...SERVICE_COMMANDS])(
    '%s: says where it runs, in one line, with code 2',
    async (name) => {
      const line = new RegExp(
        `^sluice: ${name} .*: run it where Sluice is installed, node dist/cli/sluice\\.js ${name}\\n$`,
      );
      for (const more of [[], ['--json'], ['--help'], ['--to', 'postgres://x', 'y']]) {
        const { code, stdout, stderr } = await run(name, ...more);
        expect([code, stdout], more.join(' ')).toEqual([2, '']);
        expect(stderr, more.join(' ')).toMatch(line);
      }
    },
  );

  it('stands in the help, and any other name is unknown as before', async () => {
    const { stdout } = await run('--help');
    expect(stdout).toMatch(/^Not in this package: serve, edge, doctor, migrate, move\./m);
    expect(stdout).toContain('node dist/cli/sluice.js COMMAND');
    expect(stdout).not.toMatch(/^ {2}doctor/m);
    const unknown = await run('docktor');
    expect([unknown.code, unknown.stdout]).toEqual([2, '']);
    expect(unknown.stderr).toMatch(/^sluice: unknown command 'docktor'/);
  });
});
