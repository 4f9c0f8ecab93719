// Tests the bound on the requests for slices that wait for a store (docs/contract.md 28.7).

import { expect, it } from 'vitest';
import { fail } from '../../src/contract/failure.ts';
import { sliceRoute } from '../../src/http/device/slice-route.ts';
import { Traffic } from '../../src/http/transport/request-observation.ts';
import { createLog } from '../../src/observe/log.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import { requestOf, responseOf } from './fake-exchange.ts';

const WAITING_MAX = 1000;

it('1,000 requests may wait for a store, the next is 503, and room is made by each that is answered', async () => {
  let answerFirst = () => {};
  const check = {
    now: () => undefined,
    refused: () => undefined,
    later: () =>
      new Promise<never>((resolve) => {
        answerFirst = () => resolve(fail('unknownApp') as never);
      }),
  };
  const traffic = new Traffic(createLog('silent'), new Metrics());
  const { handlers } = sliceRoute({ check, traffic });
  const statuses: string[] = [];
  const ask = () =>
    handlers.get(responseOf(statuses), requestOf('/c/acme/stable/linux/x64/1.0.0/0'));

  for (let asked = 0; asked < WAITING_MAX; asked++) ask();
  expect(statuses).toEqual([]);
  ask();
  expect(statuses).toEqual([expect.stringContaining('503')]);

  answerFirst();
  await new Promise((resolve) => setImmediate(resolve));
  expect(statuses[1]).toContain('404');
  ask();
  expect(statuses).toHaveLength(2);
});
