// Options of commands: their values, how these are parsed, and how they are sent in a query.

import { type Command, InvalidArgumentError, Option } from 'commander';
import { printableText } from '../print/print-answer.ts';

export type Options = Readonly<
  Record<string, string | number | boolean | readonly string[] | undefined>
>;

/** Returns a query string of the values that are not undefined. */
export function query(values: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return new URLSearchParams(
    given.map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
}

/** Splits an option's value at its commas. */
export function names(text: string): string[] {
  return text.split(',').map((name) => name.trim());
}

/** Adds the options that name a release. */
export function ofRelease(command: Command): Command {
  return command
    .requiredOption('--app <ref>', 'app')
    .requiredOption('--channel <name>', 'channel')
    .requiredOption('--version <version>', 'version');
}

/** Returns an option that takes one of these values. */
export function choice(flags: string, description: string, values: readonly string[]): Option {
  return new Option(flags, description).choices(values);
}

/** Parses an option's value as a whole number. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Not a whole number.');
  return Number(text);
}

/**
 * Returns the text of a page, and below it the command for the next page: the same command with the options
 * `next`. An empty `next` means that this is the last page.
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
