// Receivers of notifications in a chaos run: one organization has as many destinations as it may, which can
// be made to answer nonsense, and another one has a receiver that works.

import { type Receiver, startReceiver } from '../support/receiver.ts';
import { startProxy } from '../support/tcp-proxy.ts';
import { admin, createTenant, type Tenant } from '../support/tenant.ts';
import type { World } from './world.ts';

const DESTINATIONS_MAX = 50;
const ACCEPTED = 202;

/** Destination, with the number of messages of which so many at least must arrive. */
type Expected = { readonly id: string; readonly to: Receiver; readonly count: number };

export type ChaosReceivers = Awaited<ReturnType<typeof startReceivers>>;

/** Starts the receivers, and adds the destinations by the first node. */
export async function startReceivers({ nodes: [node] }: World) {
  const [struck, other] = [await startReceiver(), await startReceiver()];
  const port = Number(new URL(struck.url).port);
  const way = await startProxy(port);
  const add = async (tenant: Tenant, to: Receiver, url: string, name: string) => {
    const body = { kind: 'webhook', name, url };
    const answer = await admin(node.serving, 'POST', `destinations?org=${tenant.org}`, body);
    if (answer.status !== 201) throw new Error(`no destination: ${answer.text}`);
    return { id: String(answer.body?.id), to };
  };
  const [one, another] = [await createTenant(node.serving), await createTenant(node.serving)];
  const destinations = [await add(another, other, other.url, 'works')];
  for (let count = 0; count < DESTINATIONS_MAX; count++) {
    const url = `http://127.0.0.1:${way.port}/${count}`;
    destinations.push(await add(one, struck, url, `struck ${count}`));
  }
  return {
    /** Lets the destinations of the one organization lead to a server; to the receiver without one. */
    lead: (server?: { readonly port: number }) => way.moveTo(server?.port ?? port),
    /** Sends a test to each destination of both organizations; returns that one more must arrive. */
    async sendAll() {
      const sent: Expected[] = [];
      for (const each of destinations) {
        const count = countArrived(each) + 1;
        const { status } = await admin(node.serving, 'POST', `destinations/${each.id}/test`);
        // Otherwise there were too many tests within a minute.
        if (status === ACCEPTED) sent.push({ ...each, count });
      }
      return sent;
    },
    async dispose() {
      await Promise.all([way.close(), struck.close(), other.close()]);
    },
  };
}

/** Returns whether as many messages have arrived at a destination as must. */
export function hasArrived(expected: Expected): boolean {
  return countArrived(expected) >= expected.count;
}

function countArrived({ id, to }: Pick<Expected, 'id' | 'to'>): number {
  const own = to.received.filter(({ data }) => {
    return (data.destination as { id?: string } | undefined)?.id === id;
  });
  return new Set(own.map((message) => message.id)).size;
}
