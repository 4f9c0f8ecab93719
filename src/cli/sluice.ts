#!/usr/bin/env node
// The `sluice` command: reads its arguments, asks the running service, prints the answer. Errors are one
// line on stderr: exit 1 when the service refuses or cannot be reached, exit 2 when the usage is wrong.

import { Command, CommanderError } from 'commander';
import { ConfigError, readClientConfig } from '../config.ts';
import { readToken } from '../token-file.ts';
import { addCommands } from './commands.ts';
import { ServiceClient } from './service-client.ts';
import { ServiceError } from './service-error.ts';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

/** Runs one command line; resolves with the exit code. */
export async function sluice(args: readonly string[]): Promise<number> {
  const program = new Command('sluice')
    .description('Self-hosted release control plane')
    .configureOutput({ outputError: (text, write) => write(usageError(text)) })
    .exitOverride();
  program
    .command('serve')
    .description('run the service')
    .action(async () => {
      await import('../main.ts');
    });
  addCommands(program, connect);
  try {
    await program.parseAsync([...args], { from: 'user' });
    return 0;
  } catch (error) {
    return report(error);
  }
}

/** In the one line that every error takes, whatever the library makes of it. */
function usageError(text: string): string {
  const reason = text
    .trim()
    .replace(/^error: /, '')
    .replace(/\s+/g, ' ');
  return `sluice: ${reason} (run with --help for the usage)\n`;
}

function connect(): ServiceClient {
  const config = readClientConfig();
  return new ServiceClient(
    config.url,
    config.adminToken ?? readToken(config.dataDir, 'admin-token'),
  );
}

function report(error: unknown): number {
  if (error instanceof CommanderError) {
    // Help and version arrive here too, with exit code 0; usage errors have been printed already.
    return error.exitCode === 0 ? 0 : EXIT_USAGE;
  }
  if (error instanceof ConfigError || error instanceof ServiceError) {
    process.stderr.write(`sluice: ${error.message}\n`);
    return EXIT_FAILED;
  }
  throw error;
}

const code = await sluice(process.argv.slice(2));
// `serve` goes on running; every other command is over.
if (process.argv[2] !== 'serve' || code !== 0) process.exitCode = code;
