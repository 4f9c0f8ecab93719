// Runs a command line: parses its arguments, runs the command, and prints its answer. An error is one line on
// stderr, with exit code 1 when the service refuses or cannot be reached, and 2 when the usage is wrong.

import { Command, CommanderError } from 'commander';
import { build } from '../../node/version.ts';
import { ConfigError, readClientConfig } from '../../settings/settings.ts';
import { readToken } from '../../settings/token-file.ts';
import { ServiceClient, ServiceError } from '../call/service-client.ts';
import { NotWell, USAGE_HINT, UsageError } from '../call/usage-error.ts';
import { printableText } from '../print/print-answer.ts';
import { addHelp, HELP } from './command-help.ts';
import { addCommands } from './commands.ts';
import { addDdiCommands } from './ddi-commands.ts';
import { addReleaseCommands } from './release-commands.ts';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

/**
 * Runs a command line; resolves with the exit code. `addMore` adds commands to those that call a running
 * service.
 */
export async function runCommandLine(
  args: readonly string[],
  addMore: (program: Command) => void = () => undefined,
): Promise<number> {
  const { version, commit } = build();
  const program = new Command('sluice')
    .description('Self-hosted release control plane')
    .version(`${version} (${commit})`, '--version', 'print the version and its commit')
    .configureOutput({ outputError: (text, write) => write(usageLine(text)) })
    .configureHelp(HELP)
    // Options after a command's name belong to that command, even if another one has the same.
    .enablePositionalOptions()
    .exitOverride();
  addMore(program);
  addCommands(program, connectConsole);
  addReleaseCommands(program, connectManagement);
  addDdiCommands(program, connectConsole, connectManagement);
  addHelp(program);
  try {
    await program.parseAsync([...args], { from: 'user' });
    return 0;
  } catch (error) {
    return report(error);
  }
}

/** Lets a command end normally when the program that it is piped into, such as `head`, has read enough. */
export function outliveReader(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  }
}

/** Puts the library's text of a usage error into one line, like all errors. */
function usageLine(text: string, hint = USAGE_HINT): string {
  const reason = text
    .trim()
    .replace(/^error: /, '')
    .replace(/\s+/g, ' ');
  return `sluice: ${printableText(reason)}${hint}\n`;
}

function connectConsole(): ServiceClient {
  const { consoleUrl, adminToken, dataDir } = readClientConfig();
  return ServiceClient.ofConsole(consoleUrl, adminToken ?? readToken(dataDir, 'admin-token'));
}

function connectManagement(): ServiceClient {
  const { managementUrl, apiKey, isUrlGiven } = readClientConfig();
  return ServiceClient.ofManagement(managementUrl, apiKey, isUrlGiven);
}

function report(error: unknown): number {
  if (error instanceof CommanderError) {
    // The library throws for help and version too, with exit code 0. It has printed usage errors already.
    return error.exitCode === 0 ? 0 : EXIT_USAGE;
  }
  if (error instanceof NotWell) return EXIT_FAILED;
  if (error instanceof UsageError) {
    process.stderr.write(usageLine(error.message, error.hint));
    return EXIT_USAGE;
  }
  if (error instanceof ConfigError || error instanceof ServiceError) {
    process.stderr.write(`sluice: ${printableText(error.message)}\n`);
    return EXIT_FAILED;
  }
  throw error;
}
