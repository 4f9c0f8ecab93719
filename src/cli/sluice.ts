#!/usr/bin/env node
// The `sluice` command: reads its arguments, calls the running service, or does without one, and prints the
// answer. An error is one line on stderr, with exit code 1 when the service refuses or cannot be reached, and
// 2 when the usage is wrong.

import { Command, CommanderError } from 'commander';
import { ConfigError, readClientConfig, readConfig } from '../config.ts';
import { readToken } from '../token-file.ts';
import { version } from '../version.ts';
import { addCommands } from './commands.ts';
import { addLocalCommands, type LocalCommands, NotWell } from './local-commands.ts';
import { ServiceClient, ServiceError } from './service-client.ts';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

/** Loaded by their commands only, because the others need no drivers. */
const LOCAL: LocalCommands = {
  async diagnose() {
    // biome-ignore lint/style/noRestrictedImports: this command reaches the stores as the service does.
    const { diagnose } = await import('../compose/diagnose.ts');
    return diagnose();
  },
  async migrate() {
    // biome-ignore lint/style/noRestrictedImports: this command does a part of the start.
    const { migrateSchema } = await import('../compose/migrate-schema.ts');
    return migrateSchema(readConfig());
  },
};

/** Runs one command line; resolves with the exit code. */
export async function sluice(args: readonly string[]): Promise<number> {
  const program = new Command('sluice')
    .description('Self-hosted release control plane')
    .version(version(), '--version', 'print the version')
    .configureOutput({ outputError: (text, write) => write(usageError(text)) })
    // Options after a command's name are that command's, whatever the others have.
    .enablePositionalOptions()
    .exitOverride();
  program
    .command('serve')
    .description('run the service')
    .action(async () => {
      // biome-ignore lint/style/noRestrictedImports: this command is the service itself.
      await import('../main.ts');
    });
  addLocalCommands(program, LOCAL);
  addCommands(program, connect);
  try {
    await program.parseAsync([...args], { from: 'user' });
    return 0;
  } catch (error) {
    return report(error);
  }
}

/** Puts the library's text of a usage error into one line, as all errors have. */
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
    // The library throws for help and version too, with exit code 0. It has printed usage errors already.
    return error.exitCode === 0 ? 0 : EXIT_USAGE;
  }
  if (error instanceof NotWell) return EXIT_FAILED;
  if (error instanceof ConfigError || error instanceof ServiceError) {
    process.stderr.write(`sluice: ${error.message}\n`);
    return EXIT_FAILED;
  }
  throw error;
}

const code = await sluice(process.argv.slice(2));
// `serve` goes on running; every other command has ended.
if (process.argv[2] !== 'serve' || code !== 0) process.exitCode = code;
