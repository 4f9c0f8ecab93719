// Reads text files that people and build tools write: release notes, YAML, JSON and XML.

import { readFileSync } from 'node:fs';
import { ServiceError } from './service-client.ts';

/** Returns a file's text without its byte order mark; throws a `ServiceError` when it cannot be read. */
export function readText(path: string): string {
  const bytes = readBytes(path);
  return new TextDecoder(encodingOf(bytes)).decode(bytes);
}

/** Returns the text of release notes as `readText` does, but refuses bytes that are no text. */
export function readNotes(path: string): string {
  const bytes = readBytes(path);
  try {
    return new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes);
  } catch {
    throw new ServiceError(`${path} is neither UTF-8 nor UTF-16: save it as UTF-8`);
  }
}

/** Returns the encoding by the byte order mark: the shell of Windows writes UTF-16 by default. */
function encodingOf([first, second]: Buffer): string {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
}

function readBytes(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new ServiceError(
      code === 'ENOENT' ? `no such file: ${path}` : `cannot read ${path}: ${message}`,
    );
  }
}

/** Returns the parsed content of a JSON file; throws a `ServiceError` when it cannot be read. */
export function readJson(path: string): unknown {
  const text = readText(path);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ServiceError(`cannot read ${path}: ${(error as Error).message}`);
  }
}
