// Process of the embedded database, which opens the files and holds the directory's lock. Its parent forks
// it, is its only client, and sends one statement at a time; do not start it by hand.
//
// It ends at once when its parent is gone, and must write nothing after that, because the process of another
// parent may already wait for the lock.

import { mkdirSync, statfsSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { PGlite } from '@electric-sql/pglite';
import { type NoCalls, ParentLink } from '../../../process/child-process.ts';
import { lockDirectory } from '../../../process/directory-lock.ts';
import { fillFromTemplate } from './fill-from-template.ts';
import type {
  CallsToPglite,
  PgliteErrorFields,
  PgliteReply,
  PgliteRequest,
} from './pglite-database.ts';
import { markUsed, refuseRecreation } from './refuse-recreation.ts';

/** Free bytes below which a failed start is blamed on a full disk: the size of one segment of the WAL. */
const ROOM_BYTES_MIN = 16 * 1024 * 1024;

// PGlite uses the process's umask; only the owner may read its files.
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

/** Returns a sentence for the operator; PGlite's own names neither the database nor what to do. */
function cannotOpen(error: unknown): string {
  const { bavail, bsize } = statfsSync(directory);
  // On a full disk, the message of PGlite only says that it aborted.
  if (bavail * bsize < ROOM_BYTES_MIN) {
    return `The disk of ${directory} is full: make room, and start again. Nothing is lost.`;
  }
  const [reason = ''] = describeError(error).message.split('\n');
  return (
    `The embedded database in ${directory} cannot be opened (${reason.trim()}). ` +
    'Its files are damaged: restore a backup.'
  );
}

async function answer(database: PGlite, request: PgliteRequest): Promise<PgliteReply> {
  try {
    if (request.kind === 'script') {
      await database.exec(request.text);
      return { kind: 'rows', rows: [] };
    }
    if (request.kind === 'copy') {
      // The only client waits for the answer, so nothing is written during the copy.
      await database.exec('CHECKPOINT');
      await cp(directory, request.to, { recursive: true, errorOnExist: true, force: false });
      return { kind: 'rows', rows: [] };
    }
    const { rows } = await database.query(request.text, [...request.values]);
    return { kind: 'rows', rows };
  } catch (error) {
    // A RuntimeError is a trap of the WebAssembly instance of the database; its memory may be damaged.
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
