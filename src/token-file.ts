// The secrets that an embedded service generates for itself: the admin token, on which serving and the
// command line agree, and the key that encrypts secrets at rest. Each is a file that only its owner can read.

import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The file's name in the data directory. */
export type TokenName = 'admin-token' | 'secret-key';

/** Where a generated token lies. */
export function tokenFilePath(dataDir: string, name: TokenName): string {
  return join(dataDir, name);
}

/**
 * The token of this data directory; generates it (256 random bits, mode 0600) the first time. Throws when
 * there is one that cannot be read: another one in its place would lock out whoever has the first.
 */
export function readOrCreateToken(dataDir: string, name: TokenName): string {
  mkdirSync(dataDir, { recursive: true });
  const path = tokenFilePath(dataDir, name);
  const existing = readToken(dataDir, name);
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
  const token = readToken(dataDir, name);
  if (token === undefined) throw new Error(`${path} is empty or cannot be read`);
  return token;
}

/** The generated token, or undefined when there is none yet or it may not be read. */
export function readToken(dataDir: string, name: TokenName): string | undefined {
  try {
    return readFileSync(tokenFilePath(dataDir, name), 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}
