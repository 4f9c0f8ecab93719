// Starts the servers of this folder, with which the service is compared: they answer all with the same bytes.

import { once } from 'node:events';
import type { FixedAnswer } from '../load/ask.ts';
import { startChild } from '../machine/worker.ts';

export async function startServer(name: string, answer: FixedAnswer) {
  const child = startChild(new URL(`./${name}.ts`, import.meta.url), [JSON.stringify(answer)]);
  const exited = once(child.process, 'exit').then(() => undefined);
  const listening = once(child.process, 'message').then(([port]) => Number(port));
  const port = await Promise.race([listening, exited]);
  if (port === undefined) throw new Error(`${name} ended at start`);
  return { ...child, port, pids: [child.pid] };
}
