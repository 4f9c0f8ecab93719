// Commands that read the settings of the service and need none that runs: they examine, migrate or move what
// the settings name, or run an edge.

import type { Command } from 'commander';
import type { Diagnosis } from '../../contract/store-fault.ts';
import { NotWell } from '../call/usage-error.ts';
import { printAnswer, printableText } from '../print/print-answer.ts';
import { addMoveCommand, type Move } from './move-command.ts';

/** What the commands do; each is loaded when its command runs. */
export type LocalCommands = Move & {
  /** Examines the settings; `upstream` takes the place of the setting, as for an edge. */
  diagnose(upstream: string | undefined): Promise<Diagnosis>;
  /** Starts an edge, which goes on running; `upstream` takes the place of the setting. */
  edge(upstream: string | undefined): Promise<void>;
  /** Resolves with the numbers of the newest migration, before and after. */
  migrate(): Promise<{ readonly from: number; readonly to: number }>;
};

/** Adds the commands. */
export function addLocalCommands(program: Command, local: LocalCommands): void {
  program
    .command('edge')
    .description('run an edge, which follows a service and has no stores')
    .option('--upstream <url>', 'service to follow (default: EDGE_UPSTREAM)')
    .action(({ upstream }: { upstream?: string }) => local.edge(upstream));
  program
    .command('doctor')
    .description('say what is wrong with the settings and the stores, without a running service')
    .option('--upstream <url>', 'of an edge: service to follow (default: EDGE_UPSTREAM)')
    .option('--json', 'print one JSON document and nothing else')
    .action(async ({ upstream, json }: { upstream?: string; json?: true }) => {
      const diagnosis = await local.diagnose(upstream);
      print(json ? printableText(JSON.stringify(diagnosis)) : textOf(diagnosis));
      if (diagnosis.checks.some(({ ok }) => !ok)) throw new NotWell();
    });
  program
    .command('migrate')
    .description("bring the database's schema up to date, as a step of its own")
    .option('--json', 'print one JSON document and nothing else')
    .action(async ({ json }: { json?: true }) => {
      const change = await local.migrate();
      print(json ? JSON.stringify(change) : printAnswer(change));
    });
  addMoveCommand(program, local);
}

function textOf({ checks }: Diagnosis): string {
  return checks
    .map(({ name, ok, message }) => printAnswer(`${ok ? 'ok  ' : 'MEND'} ${name}: ${message}`))
    .join('\n');
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
