// Strangers who ask a node for apps that nobody created, each over a connection of its own, again and again.
// Every request has a new device id, so that none meets the limit of a device.

import { randomBytes } from 'node:crypto';
import { Agent, get } from 'node:http';
import { sleep } from './eventually.ts';

type StrangersSummary = {
  /** Number of answers by HTTP status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Number of answers. */
  readonly answered: number;
  /** Number of requests that were given up without an answer. */
  readonly unanswered: number;
  /** Longest time until an answer, in milliseconds. */
  readonly longestMs: number;
};

export type Strangers = {
  /** Number of answers so far. */
  answered(): number;
  /** Ends the requests, and returns what came of them. */
  stop(): Promise<StrangersSummary>;
};

/** Milliseconds after which a stranger gives a request up. */
const PATIENCE_MS = 8000;
/** Milliseconds that a stranger waits after a request that failed, or before the next one. */
const REST_MS = 20;

/** Starts asking over this many connections, until `stop`. */
export function startStrangers(node: { readonly url: string }, connections: number): Strangers {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const statuses: Record<string, number> = {};
  let [answered, unanswered, longestMs, isStopped] = [0, 0, 0, false];

  async function ask(): Promise<void> {
    const name = randomBytes(6).toString('hex');
    const started = performance.now();
    try {
      const status = await statusOf(
        `${node.url}/u/no-${name}/stable/linux/x86_64/1.0.0`,
        agent,
        name,
      );
      statuses[status] = (statuses[status] ?? 0) + 1;
      answered += 1;
      longestMs = Math.max(longestMs, performance.now() - started);
    } catch {
      if (!isStopped) unanswered += 1;
    }
  }

  async function keepAsking(): Promise<void> {
    while (!isStopped) {
      await ask();
      await sleep(REST_MS);
    }
  }

  const asking = Array.from({ length: connections }, keepAsking);
  return {
    answered: () => answered,
    async stop() {
      isStopped = true;
      agent.destroy();
      await Promise.all(asking);
      return { statuses, answered, unanswered, longestMs };
    },
  };
}

function statusOf(url: string, agent: Agent, device: string): Promise<number> {
  const headers = { 'x-service-device': device };
  return new Promise((resolve, reject) => {
    const request = get(url, { agent, headers, timeout: PATIENCE_MS }, (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode ?? 0));
      response.once('error', reject);
    });
    request.once('timeout', () => request.destroy(new Error('no answer')));
    request.once('error', reject);
  });
}
