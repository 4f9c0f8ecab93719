// Files of the secrets that an embedded service generates: the admin token, which the service and the command
// line share, and the key that encrypts secrets at rest. Only the owner of a file can read it.

import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Name of a secret's file in the data directory. */
export type TokenName = 'admin-token' | 'secret-key';

/** Returns the path of a generated token. */
export function tokenFilePath(dataDir: string, name: TokenName): string {
  return join(dataDir, name);
}

/**
 * Returns the token of this data directory, generated (256 random bits, mode 0600) the first time. Throws if
 * an existing token cannot be read, because a new one would lock out the holders of the first.
 */
export function readOrCreateToken(dataDir: string, name: TokenName): string {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const path = tokenFilePath(dataDir, name);
  const existing = readToken(dataDir, name);
  if (existing !== undefined) return existing;
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600 });
  try {
    // A link appears with its whole content or not at all, so that no process reads half a token.
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

/** Returns the generated token; undefined if there is none yet or it cannot be read. */
export function readToken(dataDir: string, name: TokenName): string | undefined {
  try {
    return readFileSync(tokenFilePath(dataDir, name), 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}
