#!/usr/bin/env node
// The `sluice` command for machines that the service does not run on, such as those of a pipeline: it has all
// commands that call a running service, and none of the service's own packages.

import { outliveReader, runCommandLine } from './command/command-line.ts';
import { tellServiceCommands } from './command/service-commands.ts';

/** Runs one command line; resolves with the exit code. */
export function remote(args: readonly string[]): Promise<number> {
  return runCommandLine(args, tellServiceCommands);
}

outliveReader();
process.exitCode = await remote(process.argv.slice(2));
