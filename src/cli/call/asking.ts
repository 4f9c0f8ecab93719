// Makes a command call the service and print its answer.

import type { Command } from 'commander';
import { printAnswer, printableText } from '../print/print-answer.ts';
import { waitingText } from './approval-text.ts';
import { withKnownNames } from './known-names.ts';
import type { Options } from './options.ts';
import { type ServiceClient, ServiceError, Waits } from './service-client.ts';
import { NotWell } from './usage-error.ts';

/** Connects with the credential of the commands; called only when a command runs. */
export type Connect = () => ServiceClient;

type Request = { readonly method: string; readonly path: string; readonly body?: unknown };

/** Makes a request. */
export function send(method: string, path: string, body?: unknown): Request {
  return { method, path, body };
}

/** How a command prints its answer. */
export type Showing<Answer> = {
  /** Returns what `--json` prints; by default the answer itself. */
  readonly document?: (answer: Answer) => unknown;
  /** Returns the text for people; by default a line for each field of the document. */
  readonly text?: (answer: Answer, options: Options) => string;
  /** Whether the command ends with code 0; by default it does. */
  readonly isWell?: (answer: Answer) => boolean;
};

/** Makes a command send one request and print the answer, with the option `--json`; returns the command. */
export function asking<Answer = unknown>(
  command: Command,
  connect: Connect,
  request: (options: Options, args: readonly string[]) => Request,
  showing: Showing<Answer> = {},
): Command {
  return answering(
    command,
    connect,
    async (client, options, args) => {
      const { method, path, body } = request(options, args);
      return (await client.call(method, path, body)) as Answer;
    },
    showing,
  );
}

/** Prints a line for people before the command has its answer; prints nothing with `--json`. */
export type Say = (text: string) => void;

/** Makes a command print what `ask` resolves with, with the option `--json`; returns the command. */
export function answering<Answer>(
  command: Command,
  connect: Connect,
  ask: (
    client: ServiceClient,
    options: Options,
    args: readonly string[],
    say: Say,
  ) => Promise<Answer>,
  { document = (answer) => answer, text, isWell = () => true }: Showing<Answer> = {},
): Command {
  command.option('--json', 'print one JSON document and nothing else');
  return command.action(async () => {
    const { json, ...options } = command.opts<Options>();
    const say: Say = (line) => {
      if (!json) process.stdout.write(`${line}\n`);
    };
    const textOf = (answer: Answer) =>
      json
        ? printableText(JSON.stringify(document(answer)))
        : (text?.(answer, options) ?? printAnswer(document(answer)));
    const client = connect();
    try {
      const answer = await ask(client, options, command.args, say);
      process.stdout.write(`${textOf(answer)}\n`);
      if (!isWell(answer)) throw new NotWell();
    } catch (error) {
      if (!(error instanceof Waits)) throw await toldError(client, error, options);
      const { answer } = error;
      const waiting = json ? printableText(JSON.stringify(answer)) : waitingText(answer.approval);
      process.stdout.write(`${waiting}\n`);
    }
  });
}

/** Returns the error to report in place of `error`. */
async function toldError(
  client: ServiceClient,
  error: unknown,
  options: Options,
): Promise<unknown> {
  if (error instanceof ServiceError) return await withKnownNames(client, error, options);
  // The answer lacks a field that every answer of this version has.
  if (error instanceof TypeError && client.hasAnswered) return client.unexpected(error);
  return error;
}
