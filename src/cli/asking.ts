// What a command does: asks the service, and prints the answer.

import type { Command } from 'commander';
import { waitingText } from './approval-text.ts';
import { withKnownNames } from './known-names.ts';
import { NotWell } from './not-well.ts';
import type { Options } from './options.ts';
import { printAnswer } from './print-answer.ts';
import { printableText } from './printable-text.ts';
import { type ServiceClient, ServiceError, Waits } from './service-client.ts';

/** Connects with the credential of the commands; called only when a command runs. */
export type Connect = () => ServiceClient;

type Request = { readonly method: string; readonly path: string; readonly body?: unknown };

/** Makes a command send one request and print its answer, and adds the option `--json`. */
export function asking(
  command: Command,
  connect: Connect,
  request: (options: Options, args: readonly string[]) => Request,
  choose: (answer: unknown) => unknown = (answer) => answer,
  print: (answer: unknown) => string = printAnswer,
): void {
  answering(
    command,
    connect,
    async (client, options, args) => {
      const { method, path, body } = request(options, args);
      return choose(await client.call(method, path, body));
    },
    print,
  );
}

/** Prints lines for people before the command has its answer; with `--json` it prints nothing. */
export type Say = (text: string) => void;

/** Makes a command print an answer of the service, and adds the option `--json`. */
export function answering<Answer>(
  command: Command,
  connect: Connect,
  ask: (
    client: ServiceClient,
    options: Options,
    args: readonly string[],
    say: Say,
  ) => Promise<Answer>,
  print: (answer: Answer) => string = printAnswer,
  isWell: (answer: Answer) => boolean = () => true,
): void {
  command.option('--json', 'print one JSON document and nothing else');
  command.action(async () => {
    const { json, ...options } = command.opts<Options>();
    const say: Say = (text) => {
      if (!json) process.stdout.write(`${text}\n`);
    };
    const client = connect();
    const answer = await ask(client, options, command.args, say).catch(async (error) => {
      if (error instanceof Waits) return error;
      throw error instanceof ServiceError ? await withKnownNames(client, error, options) : error;
    });
    if (answer instanceof Waits) {
      const text = json ? JSON.stringify(answer.answer) : waitingText(answer.answer.approval);
      process.stdout.write(`${json ? printableText(text) : text}\n`);
      return;
    }
    process.stdout.write(`${json ? printableText(JSON.stringify(answer)) : print(answer)}\n`);
    if (!isWell(answer)) throw new NotWell();
  });
}
