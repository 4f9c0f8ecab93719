// Tests that each command has an example in its help, and that its options are those of the command.

import { describe, expect, it } from 'vitest';
import { addHelp, EXAMPLES } from '../../../src/cli/command/command-help.ts';
import { commandTree, runnableCommands } from '../../support/command-tree.ts';

describe('the help', () => {
  it('has an example of each command, and of nothing else', () => {
    const names = runnableCommands(commandTree()).map(([name]) => name);
    expect(Object.keys(EXAMPLES).toSorted()).toEqual(names.toSorted());
  });

  it.each(Object.entries(EXAMPLES))('of %s has an example that the command takes', (name, text) => {
    const program = commandTree();
    addHelp(program);
    const [, command] = runnableCommands(program).find(([each]) => each === name) ?? [];
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
