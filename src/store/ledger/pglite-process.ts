// Process of the embedded database. It has the files open and holds the directory's lock. The process that
// forked it is its only client and sends one statement at a time; the module is not meant to be started by
// hand.
//
// The process ends at once when its parent is gone: after that it must write nothing, because the database
// process of another parent may already wait for the lock.

import { mkdirSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { PGlite } from '@electric-sql/pglite';
import { type NoCalls, ParentLink } from '../../process/child-process.ts';
import { lockDirectory } from '../../process/directory-lock.ts';
import { fillFromTemplate } from './fill-from-template.ts';
import type {
  CallsToPglite,
  PgliteErrorFields,
  PgliteReply,
  PgliteRequest,
} from './pglite-database.ts';
import { markUsed, refuseRecreation } from './refuse-recreation.ts';

// PGlite leaves the modes of its files to the process: they are for their owner alone.
process.umask(0o077);

const directory = process.argv[2] ?? '';
let opening: Promise<PGlite> | undefined;

await new ParentLink<CallsToPglite, NoCalls>({
  start: async () => void (await database()),
  stop: async () => (await database()).close(),
  answer: async (request) => answer(await database(), request),
}).run();

function database(): Promise<PGlite> {
  opening ??= open();
  return opening;
}

async function open(): Promise<PGlite> {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const lock = await lockDirectory(directory, () => process.exit(1));
  process.on('exit', () => lock.release());
  refuseRecreation(directory);
  fillFromTemplate(directory);
  const database = await PGlite.create({ dataDir: directory, relaxedDurability: false }).catch(
    (error: unknown) => {
      throw new Error(cannotOpen(error));
    },
  );
  markUsed(directory);
  return database;
}

/** Returns the sentence for an operator: PGlite's own names neither the database nor what to do. */
function cannotOpen(error: unknown): string {
  const [reason = ''] = describeError(error).message.split('\n');
  return (
    `The embedded database in ${directory} cannot be opened (${reason.trim()}). ` +
    'If the disk is not full, its files are damaged: restore a backup.'
  );
}

async function answer(database: PGlite, request: PgliteRequest): Promise<PgliteReply> {
  try {
    if (request.kind === 'script') {
      await database.exec(request.text);
      return { kind: 'rows', rows: [] };
    }
    if (request.kind === 'copy') {
      // The process has one client, which waits for the answer: nothing is written meanwhile.
      await database.exec('CHECKPOINT');
      await cp(directory, request.to, { recursive: true, errorOnExist: true, force: false });
      return { kind: 'rows', rows: [] };
    }
    const { rows } = await database.query(request.text, [...request.values]);
    return { kind: 'rows', rows };
  } catch (error) {
    // A RuntimeError is a trap of the WebAssembly instance that runs the database; its memory may be damaged.
    const isFatal = error instanceof Error && error.name === 'RuntimeError';
    return { kind: 'error', error: describeError(error), isFatal };
  }
}

function describeError(error: unknown): PgliteErrorFields {
  const { code, constraint } = error as { code?: unknown; constraint?: unknown };
  return {
    message: error instanceof Error ? error.message : String(error),
    code: typeof code === 'string' ? code : undefined,
    constraint: typeof constraint === 'string' ? constraint : undefined,
  };
}
