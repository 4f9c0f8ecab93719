// Options of commands: what they hold, how their values are read, and how they are sent in a query.

import { InvalidArgumentError } from 'commander';

export type Options = Readonly<
  Record<string, string | number | boolean | readonly string[] | undefined>
>;

/** Returns a query string of the values that are given. */
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

/** Parses an option's value as a whole number. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Not a whole number.');
  return Number(text);
}
