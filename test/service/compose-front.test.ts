// Tests the front that docker-compose.yml puts before the nodes, run by a real HAProxy.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ComposeFront, findHaproxy, startComposeFront } from '../support/compose-front.ts';
import { sleep } from '../support/eventually.ts';
import { type ServingNode, startNode } from '../support/node.ts';

/** Time after which HAProxy has noticed a server's end: two checks, a second apart, must fail. */
const CHECKED_AFTER_MS = 3000;
const isMissing = findHaproxy() === undefined;
const title = 'the front of docker-compose.yml';

describe.skipIf(isMissing)(
  isMissing ? `${title} (skipped: no HAProxy on this machine)` : title,
  () => {
    let node: ServingNode | undefined;
    let front: ComposeFront;
    beforeAll(async () => {
      node = await startNode();
      const { host } = new URL(node.url);
      front = await startComposeFront([host, host]);
    });
    afterAll(async () => {
      await front?.stop();
      await node?.dispose();
    });

    it('finds the nodes ready and passes requests on', async () => {
      await sleep(CHECKED_AFTER_MS);
      const ready = await fetch(`${front.url}/readyz`);
      expect(ready.status, front.output()).toBe(200);
      const unknown = await fetch(`${front.url}/u/none/stable/linux/x86_64/1.0.0`);
      expect(unknown.status).toBe(404);
      expect(await unknown.json()).toEqual({ error: 'Unknown app' });
      expect(front.output()).not.toContain('DOWN');
    });
  },
);
