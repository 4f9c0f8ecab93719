// The commands that `sluice` declares, for tests that must know every one of them.

import { Command } from 'commander';
import { addCommands } from '../../src/cli/command/commands.ts';
import { addDdiCommands } from '../../src/cli/command/ddi-commands.ts';
import { addLocalCommands } from '../../src/cli/command/local-commands.ts';
import { addReleaseCommands } from '../../src/cli/command/release-commands.ts';

const nothing = (): never => {
  throw new Error('nothing is asked here');
};

/** Builds the tree of all commands; none of them can do anything. */
export function commandTree(): Command {
  const program = new Command('sluice').enablePositionalOptions();
  // src/cli/sluice.ts adds it, which test/docs/operating.test.ts holds.
  program.command('serve');
  addLocalCommands(program, {
    ...{ diagnose: nothing, edge: nothing, migrate: nothing, move: nothing, undoMove: nothing },
  });
  addCommands(program, nothing);
  addReleaseCommands(program, nothing);
  addDdiCommands(program, nothing, nothing);
  return program;
}

/** Returns the commands that can be run, by their names: those without subcommands or with `--json`. */
export function runnableCommands(command: Command, before = ''): [string, Command][] {
  return command.commands.flatMap((each) => {
    const name = `${before}${each.name()}`;
    const isRun = each.commands.length === 0 || each.options.some(({ long }) => long === '--json');
    const own: [string, Command][] = isRun ? [[name, each]] : [];
    return [...own, ...runnableCommands(each, `${name} `)];
  });
}
