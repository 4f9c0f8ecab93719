// The command that shows the next page of a list.

import { printableText } from '../print/printable-text.ts';
import type { Options } from './options.ts';

/**
 * Returns a page with the command for the next one below it: the same command, with `next` in place of where
 * this page began. Without `next` this is the last page.
 */
export function withNextPage(page: string, name: string, options: Options, next: Options): string {
  if (Object.keys(next).length === 0) return page;
  const flags = Object.entries({ ...options, ...next }).flatMap(([option, value]) =>
    value === undefined ? [] : [flagOf(option, String(value))],
  );
  return `${page}\n${printableText(`… more: sluice ${[name, ...flags].join(' ')}`)}`;
}

/** Returns an option and its value as a shell takes them. */
function flagOf(option: string, value: string): string {
  const name = `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  const quoted = /^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
  return value.startsWith('-') ? `${name}=${quoted}` : `${name} ${quoted}`;
}
