// Trusted comments of minisign signatures, which name the signed file, and sometimes its version. Tauri's
// signatures are such files in base64.

import { parseVersion, type Version } from '../../decision/version.ts';

export type TrustedComment = { readonly file?: string; readonly version?: string };

const COMMENT = /^trusted comment: ?(.*)$/m;
const BASE64 = /^[0-9A-Za-z+/=\s]+$/;
/** Tabs separate the fields; some tools use spaces, which also occur in file names. */
const BETWEEN_FIELDS = /\t|\s(?=(?:timestamp|file|version|prehashed|hashed)(?::|\s|$))/;

/** Reads the trusted comment of a signature; undefined if it has none. */
export function readTrustedComment(signature: string): TrustedComment | undefined {
  const [, text] = COMMENT.exec(plainText(signature)) ?? [];
  if (text === undefined) return undefined;
  const fields = text.trim().split(BETWEEN_FIELDS);
  const read = (name: string) =>
    fields
      .find((field) => field.startsWith(`${name}:`))
      ?.slice(name.length + 1)
      .trim() || undefined;
  const [file, version] = [read('file'), read('version')];
  return {
    ...(file === undefined ? {} : { file }),
    ...(version === undefined ? {} : { version }),
  };
}

/**
 * Returns whether two names are of the same file. On upload, code hosts replace characters other than
 * letters, digits and `.-_`.
 */
export function fileNamesAgree(left: string, right: string): boolean {
  return plainName(left) === plainName(right);
}

/** Returns whether a text is this version, in any spelling. */
export function isSameVersion(text: string, version: Version): boolean {
  return parseVersion(text)?.canonical === version.canonical;
}

function plainName(name: string): string {
  return name.replace(/[^0-9A-Za-z._-]+/g, '.');
}

function plainText(signature: string): string {
  if (!BASE64.test(signature)) return signature;
  return Buffer.from(signature, 'base64').toString('utf8');
}
