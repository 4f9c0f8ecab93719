// The admin token that an embedded service generates for itself. Serving and the command line agree on it
// through a file that only its owner can read.

import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where the generated admin token lies. */
export function tokenFilePath(dataDir: string): string {
  return join(dataDir, 'admin-token');
}

/** The token of this data directory; generates it (256 random bits, mode 0600) the first time. */
export function readOrCreateToken(dataDir: string): string {
  mkdirSync(dataDir, { recursive: true });
  const path = tokenFilePath(dataDir);
  const existing = readToken(dataDir);
  if (existing !== undefined) return existing;
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600 });
  try {
    // A link appears whole or not at all, so that nobody ever reads half a token.
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  return readToken(dataDir) ?? '';
}

/** The generated token, or undefined when there is none yet or it may not be read. */
export function readToken(dataDir: string): string | undefined {
  try {
    return readFileSync(tokenFilePath(dataDir), 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}
