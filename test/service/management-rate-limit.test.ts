// Tests the management API's rate limit: 300 requests a minute and key (docs/contract.md 19.6). No test waits
// a minute: `Retry-After` shows what was counted.

import { describe, expect, it } from 'vitest';
import { sleep } from '../support/eventually.ts';
import { serviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  admin,
  anotherKey,
  check,
  createTenant,
  manage,
  publish,
  send,
  type Tenant,
} from '../support/tenant.ts';

const LIMIT = 300;
const WINDOW_SECONDS = 60;
const PARALLEL = 20;

serviceSuite('the management rate limit', (node) => {
  function listApps(tenant: Pick<Tenant, 'secret'>): Promise<Answer> {
    return manage(node, tenant, 'GET', 'apps');
  }

  describe('the 301st request within a minute (§19.6)', () => {
    it('is 429 `Rate limit exceeded` with Retry-After, on every endpoint', async () => {
      const tenant = await createTenant(node);
      expect(await tally(LIMIT, () => listApps(tenant))).toEqual({ 200: LIMIT });
      const body = { app: tenant.app, channel: 'stable', version: '1.0.0', status: 'paused' };
      for (const answer of [
        await listApps(tenant),
        await manage(node, tenant, 'GET', 'releases'),
        await manage(node, tenant, 'POST', 'releases', body),
        await manage(node, tenant, 'PATCH', 'releases', body),
      ]) {
        expectLimited(answer);
      }
    });

    it('is counted over all endpoints together, and nothing of it is done', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.0.0');
      const rest = LIMIT - 1;
      let turn = 0;
      const answers = await tally(rest, () =>
        manage(node, tenant, 'GET', turn++ % 2 === 0 ? 'apps' : 'releases'),
      );
      expect(answers).toEqual({ 200: rest });
      expectLimited(await publish(node, tenant, '1.0.1'));
      const { body } = await manage(node, await anotherKey(node, tenant), 'GET', 'releases');
      expect(body?.total).toBe(1);
    });

    it('is the 301st also of requests at the same time', async () => {
      const tenant = await createTenant(node);
      const answers = await tally(LIMIT + 40, () => listApps(tenant));
      expect(answers).toEqual({ 200: LIMIT, 429: 40 });
    });
  });

  it('is per key: neither another key of the organization nor a device is affected', async () => {
    const tenant = await createTenant(node);
    await publish(node, tenant, '1.0.0');
    const second = await anotherKey(node, tenant);
    const stranger = await createTenant(node);
    await tally(LIMIT, () => listApps(tenant));
    expectLimited(await listApps(tenant));
    expect((await listApps(second)).status).toBe(200);
    expect((await listApps(stranger)).status).toBe(200);
    expect((await check(node, tenant, '0.1')).status).toBe(200);
    expect((await admin(node, 'GET', `audit?org=${tenant.org}`)).status).toBe(200);
  });

  it('does not count refused requests: knocking on does not put off the end of the wait', async () => {
    const tenant = await createTenant(node);
    // The place of the first request becomes free first, some seconds before all others. If refused requests
    // were counted, 300 of them would push it to a whole window from now.
    const head = 3;
    await listApps(tenant);
    await sleep(head * 1000);
    await tally(LIMIT - 1, () => listApps(tenant));
    expect(await tally(LIMIT, () => listApps(tenant))).toEqual({ 429: LIMIT });
    const answer = await listApps(tenant);
    expectLimited(answer);
    expect(retryAfterOf(answer)).toBeLessThanOrEqual(WINDOW_SECONDS - head);
  });

  it('Retry-After grows smaller as time passes', async () => {
    const tenant = await createTenant(node);
    await tally(LIMIT, () => listApps(tenant));
    const before = retryAfterOf(await listApps(tenant));
    await sleep(2000);
    const after = retryAfterOf(await listApps(tenant));
    expect(after).toBeLessThan(before);
  });

  it('does not count what is 401: a stranger cannot use up the window of a key', async () => {
    const tenant = await createTenant(node);
    // The public part is right, so that the key is found.
    const wrong = { secret: `${tenant.secret.slice(0, -2)}__` };
    expect(await tally(LIMIT, () => listApps(wrong))).toEqual({ 401: LIMIT });
    expect(await tally(LIMIT, () => listApps(tenant))).toEqual({ 200: LIMIT });
    expectLimited(await listApps(tenant));
    expect((await listApps(wrong)).status).toBe(401);
  });

  it('counts what is refused for any other reason (400, 404, 409, 413)', async () => {
    const tenant = await createTenant(node);
    await publish(node, tenant, '1.0.0');
    const headers = { authorization: `Bearer ${tenant.secret}` };
    const tooLarge = { headers, body: ' '.repeat(1024 * 1024 + 1) };
    const answers = [
      await publish(node, tenant, '1.0.0'),
      await publish(node, tenant, '1.0.0', { app: 'unknown' }),
      await send(node, 'POST', '/api/v1/releases', tooLarge),
    ];
    expect(answers.map(({ status }) => status)).toEqual([409, 404, 413]);
    const rest = LIMIT - 1 - answers.length;
    expect(await tally(rest, () => publish(node, tenant, 'latest'))).toEqual({ 400: rest });
    expectLimited(await listApps(tenant));
  });
});

function retryAfterOf(answer: Answer): number {
  return Number(answer.headers.get('retry-after'));
}

/** Expects the 429 of the contract: the message, and whole seconds from 1 to the window. */
function expectLimited(answer: Answer): void {
  expect([answer.status, answer.body]).toStrictEqual([429, { error: 'Rate limit exceeded' }]);
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  expect(retryAfterOf(answer)).toBeLessThanOrEqual(WINDOW_SECONDS);
}

/** Makes requests, some at a time, and returns how often each status was the answer. */
async function tally(
  count: number,
  request: () => Promise<Answer>,
): Promise<Record<number, number>> {
  const statuses: Record<number, number> = {};
  for (let made = 0; made < count; made += PARALLEL) {
    const parallel = Math.min(PARALLEL, count - made);
    const answers = await Promise.all(Array.from({ length: parallel }, request));
    for (const { status } of answers) statuses[status] = (statuses[status] ?? 0) + 1;
  }
  return statuses;
}
