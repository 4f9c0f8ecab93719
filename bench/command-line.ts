// Reads the arguments of `npm run bench --` by what the benchmarks declare, and writes the help.

import { Command } from 'commander';
import type { Benchmark, Given } from './benchmark.ts';

type Run = (benchmarks: readonly Benchmark[], given: Given, json?: string) => Promise<void>;

/** Makes the command; `run` is called with what it asks for. Whoever parses gets errors as exceptions. */
export function createCommand(all: readonly Benchmark[], run: Run): Command {
  const program = new Command('npm run bench --')
    .usage('[NAME] [OPTION]...')
    .description('Runs one benchmark, or all that need no <ref>, and prints tables.')
    .exitOverride()
    .helpCommand(false)
    .helpOption('--help', 'prints this; after a name, what there is to say of that benchmark')
    .option('--smoke', 'for a moment only, to see that it works')
    .option('--json <file>', 'writes the results there as well, as JSON')
    .argument('[name]')
    .configureHelp({ showGlobalOptions: true, visibleArguments: () => [], helpWidth: 110 });
  const start = (benchmarks: readonly Benchmark[], options: Given['options'], ref?: string) => {
    const { smoke, json } = program.opts<{ smoke?: true; json?: string }>();
    return run(benchmarks, { isSmoke: smoke === true, ref, options }, json);
  };
  for (const benchmark of all) {
    const { name, title, argument, options = [], reading } = benchmark;
    const command = program.command(name).summary(title);
    command.description(`${title}\n\n${reading.join(' ')}`);
    if (argument !== undefined) command.argument(argument);
    for (const option of options) command.addOption(option);
    command.action((...given: readonly unknown[]) =>
      start([benchmark], command.opts(), argument && (given[0] as string | undefined)),
    );
  }
  program.addHelpText('after', () => program.commands.map(optionsOf).join(''));
  return program.action((name?: string) => {
    if (name === undefined)
      return start(
        all.filter(({ argument }) => argument !== '<ref>'),
        {},
      );
    const names = all.map((each) => each.name).join(', ');
    return program.error(`error: no benchmark ${name}: there are ${names}`);
  });
}

function optionsOf(command: Command): string {
  const lines = command.options.map(({ flags, description }) => {
    return `  ${flags.padEnd(20)}  ${description}\n`;
  });
  return lines.length === 0 ? '' : `\nOptions of ${command.name()}:\n${lines.join('')}`;
}
