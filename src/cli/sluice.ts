#!/usr/bin/env node
// The `sluice` command where the service is installed: runs it, examines its settings, or calls it.

import { requireNode } from '../node/required-node.ts';
import { readMoveConfig } from '../settings/move-settings.ts';
import { readConfig } from '../settings/settings.ts';
import { outliveReader, runCommandLine } from './command/command-line.ts';
import { addLocalCommands, type LocalCommands } from './command/local-commands.ts';

/** Each is loaded by its command only, because the other commands need no drivers. */
const LOCAL: LocalCommands = {
  async diagnose(upstream) {
    // biome-ignore lint/style/noRestrictedImports: this command reaches the stores as the service does.
    const { diagnose } = await import('../node/machine/doctor.ts');
    return diagnose(upstream);
  },
  async edge(upstream) {
    requireNode();
    // biome-ignore lint/style/noRestrictedImports: this command is the edge itself.
    const { runEdge } = await import('../node/processes/run-until-signal.ts');
    await runEdge(upstream);
  },
  async migrate() {
    // biome-ignore lint/style/noRestrictedImports: this command does a part of the start.
    const { migrateSchema } = await import('../node/machine/doctor.ts');
    return migrateSchema(readConfig());
  },
  async move(to, isDryRun) {
    // biome-ignore lint/style/noRestrictedImports: this command reaches the stores as the service does.
    const { moveRecord } = await import('../node/machine/move.ts');
    const config = readMoveConfig(to);
    return config && moveRecord(config, isDryRun);
  },
  async undoMove(to, isForced) {
    // biome-ignore lint/style/noRestrictedImports: this command reaches the stores as the service does.
    const { undoMovedRecord } = await import('../node/machine/move.ts');
    const config = readMoveConfig(to);
    return config && undoMovedRecord(config, isForced);
  },
};

/** Runs one command line; resolves with the exit code. */
export function sluice(args: readonly string[]): Promise<number> {
  return runCommandLine(args, (program) => {
    program
      .command('serve')
      .description('run the service')
      .action(async () => {
        requireNode();
        // biome-ignore lint/style/noRestrictedImports: this command is the service itself.
        const { serve } = await import('../node/processes/serve.ts');
        await serve();
      });
    addLocalCommands(program, LOCAL);
  });
}

outliveReader();
const code = await sluice(process.argv.slice(2));
// `serve` and `edge` continue to run; every other command has ended.
const isRunning = ['serve', 'edge'].includes(process.argv[2] ?? '') && code === 0;
if (!isRunning) process.exitCode = code;
