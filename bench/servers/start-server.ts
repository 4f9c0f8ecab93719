// Starts the servers of this folder, with which the service is compared. They answer every request with the
// same bytes.

import { once } from 'node:events';
import { type Child, startChild } from '../machine/child-process.ts';
import { pinProcess, SERVER_PROCESSOR } from '../machine/place-process.ts';

/** Answer that a server gives to every request. */
export type FixedAnswer = {
  readonly status: number;
  /** Headers, without those that every server adds by itself. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
};

export type ChildServer = Child & { readonly port: number };

/** Starts the server of this name as a process and waits until it listens. */
export async function startServer(
  name: string,
  answer: FixedAnswer,
  environment: Readonly<Record<string, string>> = {},
): Promise<ChildServer> {
  const file = new URL(`./${name}.ts`, import.meta.url);
  const child = startChild(file, { args: [JSON.stringify(answer)], environment });
  const exited = once(child.process, 'exit').then(() => undefined);
  const listening = once(child.process, 'message').then(([port]) => Number(port));
  const port = await Promise.race([listening, exited]);
  if (port === undefined) throw new Error(`${name} ended at start`);
  return { ...child, port };
}

/** Starts a server on the processor that the measured server has to itself. */
export async function startPinnedServer(
  name: string,
  answer: FixedAnswer,
  environment: Readonly<Record<string, string>> = {},
): Promise<ChildServer> {
  const server = await startServer(name, answer, environment);
  pinProcess(server.pid, SERVER_PROCESSOR);
  return server;
}
