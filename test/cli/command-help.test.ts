// Tests that each command has an example in its help, and that its options are those of the command.

import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { addHelp, EXAMPLES } from '../../src/cli/command-help.ts';
import { addCommands } from '../../src/cli/commands.ts';
import { addLocalCommands } from '../../src/cli/local-commands.ts';
import { addReleaseCommands } from '../../src/cli/release-commands.ts';

const nothing = () => {
  throw new Error('nothing is asked here');
};

function programOf(): Command {
  const program = new Command('sluice').enablePositionalOptions();
  program.command('serve');
  addLocalCommands(program, {
    ...{ diagnose: nothing, edge: nothing, migrate: nothing, move: nothing, undoMove: nothing },
  });
  addCommands(program, nothing);
  addReleaseCommands(program, nothing);
  return program;
}

/** Returns the commands that can be run, by their names. */
function runnable(command: Command, before = ''): [string, Command][] {
  return command.commands.flatMap((each) => {
    const name = `${before}${each.name()}`;
    const isRun = each.commands.length === 0 || each.options.some(({ long }) => long === '--json');
    return [...(isRun ? [[name, each] as [string, Command]] : []), ...runnable(each, `${name} `)];
  });
}

describe('the help', () => {
  it('has an example of each command, and of nothing else', () => {
    const names = runnable(programOf()).map(([name]) => name);
    expect(Object.keys(EXAMPLES).toSorted()).toEqual(names.toSorted());
  });

  it.each(Object.entries(EXAMPLES))('of %s has an example that the command takes', (name, text) => {
    const program = programOf();
    addHelp(program);
    const [, command] = runnable(program).find(([each]) => each === name) ?? [];
    if (command === undefined) throw new Error(`no command ${name}`);
    const args = (text.match(/"[^"]*"|\S+/g) ?? []).map((arg) => arg.replaceAll('"', ''));
    let isRun = false;
    command.exitOverride().action(() => {
      isRun = true;
    });
    command.parse(args, { from: 'user' });
    expect(isRun).toBe(true);
    let help = '';
    command.configureOutput({ writeOut: (written) => (help += written) }).outputHelp();
    expect(help.endsWith(`Example:\n  ${`sluice ${name} ${text}`.trim()}\n`)).toBe(true);
  });
});
