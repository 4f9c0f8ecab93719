// Mark file beside the directory of the embedded database: its record was moved to PostgreSQL, or may have
// been. Nothing starts from the directory then, because two databases would continue one record.

import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

export type MoveMark = {
  /** Random id of the move, which the other database stores as well. */
  readonly id: string;
  /** Hosts and name of the other database, without its login. */
  readonly to: string;
  /** Address of the other database without its password; a mark of version 0.2.0 lacks it. */
  readonly address?: string;
  /** Whether the move is known to have been committed; until then, only the other database can tell. */
  readonly isDone: boolean;
  readonly tables: number;
  readonly rows: number;
};

/** Whether a directory has a mark. */
export function hasMoveMark(directory: string): boolean {
  return existsSync(pathOf(directory));
}

/** Returns the mark of a directory; undefined where there is none. Throws when it cannot be read. */
export function readMoveMark(directory: string): MoveMark | undefined {
  if (!hasMoveMark(directory)) return undefined;
  const path = pathOf(directory);
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as MoveMark;
  } catch (error) {
    throw new Error(`${path} cannot be read`, { cause: error });
  }
}

/** Writes the mark atomically and durably, because the other database commits the move next. */
export function writeMoveMark(directory: string, mark: MoveMark): void {
  const path = pathOf(directory);
  writeFileSync(`${path}.draft`, `${JSON.stringify(mark)}\n`, { mode: 0o600, flush: true });
  renameSync(`${path}.draft`, path);
  const folder = openSync(dirname(path), 'r');
  fsyncSync(folder);
  closeSync(folder);
}

export function removeMoveMark(directory: string): void {
  rmSync(pathOf(directory), { force: true });
}

/** Throws if the record of a directory was moved, or may have been; says how to finish or undo the move. */
export function refuseMoved(directory: string): void {
  const mark = readMoveMark(directory);
  if (mark !== undefined) throw new Error(wordsOf(directory, mark));
}

/** Returns what an operator can do with a directory that has a mark; its commands run as printed. */
export function wordsOf(directory: string, { to, address = 'ADDRESS', isDone }: MoveMark): string {
  const named = `--to '${address}'`;
  return isDone
    ? `The ledger in ${directory} was moved to PostgreSQL at ${to}: set DATABASE_URL to it. ` +
        `The way back to this directory is \`sluice move --undo ${named}\`; ` +
        'its password goes into PGPASSWORD.'
    : `A move of the ledger in ${directory} to PostgreSQL at ${to} was broken off: ` +
        `\`sluice move ${named}\` ends it, \`sluice move --undo ${named}\` takes it back; ` +
        'its password goes into PGPASSWORD.';
}

/** Query parameters that an address may need to work, and that are no secrets. */
const SHOWN_PARAMETERS = ['host', 'port', 'user', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey'];

/** Returns an address without its password, safe between single quotes in a shell. */
export function withoutPassword(url: string): string {
  const [, scheme = '', authority = '', path = '', query = ''] =
    /^([a-z]+:\/\/)([^/?#]*)([^?#]*)(?:\?([^#]*))?/i.exec(url) ?? [];
  const loginLength = authority.lastIndexOf('@') + 1;
  const [user = ''] = authority.slice(0, Math.max(0, loginLength - 1)).split(':');
  const hosts = authority.slice(loginLength);
  const parameters = [...new URLSearchParams(query)].filter(([name]) =>
    SHOWN_PARAMETERS.includes(name),
  );
  const shown = new URLSearchParams(parameters).toString();
  const address = `${scheme}${user}${user === '' ? '' : '@'}${hosts}${path}`;
  return `${address}${shown === '' ? '' : `?${shown}`}`.replaceAll("'", '%27');
}

/** Returns what an operator can do if PostgreSQL is empty and this directory has a ledger. */
export function wayOf(directory: string): string {
  return (
    `the database is empty, and there is a ledger in ${directory}: \`sluice move\` brings it there; ` +
    'without DATABASE_URL the service goes on with it'
  );
}

/** Whether a directory has an embedded database and no mark of a committed move. */
export function isUnmoved(directory: string): boolean {
  return existsSync(join(directory, 'PG_VERSION')) && readMoveMark(directory)?.isDone !== true;
}

function pathOf(directory: string): string {
  return `${directory}.moved`;
}
