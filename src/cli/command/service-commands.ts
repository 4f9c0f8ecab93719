// Names the commands that run only where the service is installed. The command's own package does not contain
// them, because it has none of the service's packages, and says where they are.

import type { Command } from 'commander';
import { UsageError } from '../call/usage-error.ts';

/** What each command does that is possible only where the service is installed. */
const DEEDS = {
  serve: 'runs the service',
  edge: 'runs an edge with the packages of the service',
  doctor: 'reads the settings of the service',
  migrate: 'reads the settings of the service',
  move: 'reads the settings of the service',
} as const;

/** Names of the commands. */
export const SERVICE_COMMANDS: ReadonlySet<string> = new Set(Object.keys(DEEDS));

const WHERE = 'run it where Sluice is installed, node dist/cli/sluice.js';

/** Makes a program without these commands say where they are: when one is called, and in its help. */
export function tellServiceCommands(program: Command): void {
  for (const [name, deed] of Object.entries(DEEDS)) {
    const text = `${name} ${deed}: ${WHERE} ${name}`;
    program
      .command(name, { hidden: true })
      .description(text)
      .helpOption(false)
      .allowUnknownOption()
      .allowExcessArguments()
      .action(() => {
        throw new UsageError(text, '');
      });
  }
  const names = Object.keys(DEEDS).join(', ');
  program.addHelpText('after', `\nNot in this package: ${names}. For these,\n${WHERE} COMMAND`);
}
