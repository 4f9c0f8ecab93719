// Commands that read the settings of the service and need no running service: they examine, migrate or move
// the stores that the settings name, or run an edge.

import { type Command, Option } from 'commander';
import type { Diagnosis } from '../../contract/store-fault.ts';
import { NotWell, UsageError } from '../call/usage-error.ts';
import { printAnswer, printableText } from '../print/print-answer.ts';

type Moved = {
  readonly tables: number;
  readonly rows: number;
  readonly seconds: number;
  /** Address of the other database, without credentials. */
  readonly to: string;
  /** Whether the record is in the other database now; a dry run moves nothing. */
  readonly moved: boolean;
};

/** Work of `move`; each resolves with undefined if neither `to` nor the settings name an address. */
type Move = {
  /** Moves the record, or does a dry run of it; `to` replaces DATABASE_URL. */
  move(to: string | undefined, isDryRun: boolean): Promise<Moved | undefined>;
  /** Undoes a move; with `isForced`, also if the other database does not answer. */
  undoMove(to: string | undefined, isForced: boolean): Promise<true | undefined>;
};

type MoveOptions = {
  readonly to?: string;
  readonly dryRun?: true;
  readonly undo?: true;
  readonly force?: true;
  readonly json?: true;
};

const NEXT_STEPS = `
Start the service with that DATABASE_URL and the same DATA_DIR: the secrets that it generated there are used.
Other nodes need them as settings (ADMIN_TOKEN_FILE, SECRET_KEY_FILE). The way back is the same command
with --undo, until a service was started on that database.`;

/** Work of the commands; each is loaded when its command runs. */
export type LocalCommands = Move & {
  /** Examines the settings; `upstream` replaces EDGE_UPSTREAM, and makes them those of an edge. */
  diagnose(upstream: string | undefined): Promise<Diagnosis>;
  /** Starts an edge, which continues to run; `upstream` replaces EDGE_UPSTREAM. */
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

function addMoveCommand(program: Command, { move, undoMove }: Move): void {
  program
    .command('move')
    .description('move the embedded ledger of a stopped service to PostgreSQL, and check it there')
    .option('--to <url>', 'address of an empty database (default: DATABASE_URL)')
    .option('--dry-run', 'do all of it there, and take it back instead of committing it')
    .addOption(
      new Option('--undo', 'go back, unless a service was started there').conflicts('dryRun'),
    )
    .option('--force', 'with --undo: go back also if that database does not answer')
    .option('--json', 'print one JSON document and nothing else')
    .action(async ({ to, dryRun, undo, force, json }: MoveOptions) => {
      if (force && !undo) throw new UsageError('--force goes with --undo only');
      if (undo) {
        const answer = given(await undoMove(to, force === true)) && { undone: true };
        print(
          json ? JSON.stringify(answer) : 'The move is undone: start the service as before it.',
        );
      } else {
        const answer = given(await move(to, dryRun === true));
        print(json ? printableText(JSON.stringify(answer)) : movedText(answer, dryRun === true));
      }
    });
}

/** Returns what was copied, and whether the record is in the other database now. */
function movedText({ to, moved, ...copied }: Moved, isDryRun: boolean): string {
  const place = `PostgreSQL at ${to}`;
  const outcome = isDryRun
    ? moved
      ? `This record is in ${place} already: an earlier move has brought it.`
      : `Nothing has moved: this was a dry run to ${place}, and what it wrote there is taken back.`
    : `Moved to ${place}.`;
  const next = isDryRun ? [] : [NEXT_STEPS];
  return [printAnswer(copied), printableText(outcome), ...next].join('\n');
}

function given<Value>(answer: Value | undefined): Value {
  if (answer !== undefined) return answer;
  throw new UsageError('name the database with --to, or with DATABASE_URL or DATABASE_URL_FILE');
}

function textOf({ checks }: Diagnosis): string {
  return checks
    .map(({ name, ok, message }) => printAnswer(`${ok ? 'ok  ' : 'MEND'} ${name}: ${message}`))
    .join('\n');
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
