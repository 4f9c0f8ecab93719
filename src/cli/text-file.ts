// Texts that people and build tools write: release notes, YAML, JSON and XML.

import { readFileSync } from 'node:fs';
import { ServiceError } from './service-client.ts';

/** Returns a file's text without its byte order mark; throws a `ServiceError` when it cannot be read. */
export function readText(path: string): string {
  try {
    const bytes = readFileSync(path);
    // The shell of Windows writes UTF-16 where it is told nothing else.
    const isWide = bytes[0] === 0xff && bytes[1] === 0xfe;
    return new TextDecoder(isWide ? 'utf-16le' : 'utf-8').decode(bytes);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new ServiceError(
      code === 'ENOENT' ? `no such file: ${path}` : `cannot read ${path}: ${message}`,
    );
  }
}

/** Returns what a file of JSON holds, as `readText` reads it. */
export function readJson(path: string): unknown {
  const text = readText(path);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ServiceError(`cannot read ${path}: ${(error as Error).message}`);
  }
}
