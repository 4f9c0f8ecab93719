// The embedded database's own process. It has the files open and holds the directory's lock; the process
// that forked it is its only client and sends one statement at a time. It is never called from outside.
//
// It leaves when its client tells it to, or at once when the client is gone. Signals to the group (Ctrl-C)
// are not for it: the client must still write while it drains.

import { mkdirSync } from 'node:fs';
import { PGlite } from '@electric-sql/pglite';
import { type DirectoryLock, lockDirectory } from './directory-lock.ts';
import type { PgliteErrorFields, PgliteReply, PgliteRequest } from './pglite-request.ts';

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
// Without a client nothing may be written any more: the next one may already wait for the lock. The
// client may have gone while this module was loading.
process.on('disconnect', () => process.exit(0));
if (!process.connected) process.exit(0);

await serve(process.argv[2] ?? '');

/** Serves the directory until told to close. */
async function serve(directory: string): Promise<void> {
  const opened = await open(directory);
  if (opened === undefined) return;
  const { database, lock } = opened;
  process.on('exit', () => lock.release());
  process.on('message', (request: PgliteRequest) => {
    if (request.kind === 'close') void close(database);
    else void answer(database, request);
  });
  reply({ kind: 'opened' });
}

async function open(
  directory: string,
): Promise<{ database: PGlite; lock: DirectoryLock } | undefined> {
  let lock: DirectoryLock | undefined;
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    lock = await lockDirectory(directory, () => process.exit(1));
    return {
      database: await PGlite.create({ dataDir: directory, relaxedDurability: false }),
      lock,
    };
  } catch (error) {
    lock?.release();
    // Leaves only once the message is written.
    reply({ kind: 'refused', message: messageOf(error) }, () => process.exit(1));
    return undefined;
  }
}

async function answer(
  database: PGlite,
  request: Exclude<PgliteRequest, { kind: 'close' }>,
): Promise<void> {
  const { id } = request;
  try {
    if (request.kind === 'script') {
      await database.exec(request.text);
      reply({ kind: 'rows', id, rows: [] });
    } else {
      const { rows } = await database.query(request.text, [...request.values]);
      reply({ kind: 'rows', id, rows });
    }
  } catch (error) {
    reply({ kind: 'error', id, error: describeError(error) }, () => {
      // The machine that runs the database has trapped; its memory is not to be trusted.
      if (error instanceof Error && error.name === 'RuntimeError') process.exit(1);
    });
  }
}

async function close(database: PGlite): Promise<void> {
  await database.close();
  process.exit(0);
}

function reply(message: PgliteReply, afterwards: () => void = () => undefined): void {
  process.send?.(message, afterwards);
}

function describeError(error: unknown): PgliteErrorFields {
  const { code, constraint } = error as { code?: unknown; constraint?: unknown };
  return {
    message: messageOf(error),
    code: typeof code === 'string' ? code : undefined,
    constraint: typeof constraint === 'string' ? constraint : undefined,
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
