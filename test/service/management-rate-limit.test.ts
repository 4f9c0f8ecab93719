// Tests the management API's rate limit: 300 requests a minute and key, and what every answer tells of it
// (docs/contract.md 4.14 and 19.6). That the window slides, and that refused requests do not count, is tested
// with a clock of their own by test/store/engine/engine-contract.ts and test/access/api-keys.test.ts.

import { expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { type Answer, admin, createTenant } from '../support/tenant.ts';

const LIMIT = 300;
const WINDOW_SECONDS = 60;
const PARALLEL = 20;
const TOO_LARGE = ' '.repeat(1024 * 1024 + 1);

serviceSuite('the management rate limit', (node) => {
  it('of requests at the same time the 301st is 429, on every endpoint, and nothing of it is done (§19.6)', async () => {
    const tenant = await createTenant(node, ['1.0.0']);
    const second = await tenant.anotherKey();
    const wrong = tenant.with({ secret: `${tenant.secret.slice(0, -2)}__` });
    const stranger = await createTenant(node);
    const paths = ['apps', 'releases', `channels?app=${tenant.app}`];
    let turn = 0;
    const answers = await tally(LIMIT + 39, () =>
      tenant.manage('GET', paths[turn++ % paths.length] ?? ''),
    );
    expect(answers).toEqual({ 200: LIMIT - 1, 429: 40 });
    // It comes before 413, 400, 404 and 409 (§11.7).
    for (const answer of [
      await tenant.manage('GET', 'apps'),
      await tenant.manage('GET', 'releases'),
      await tenant.manage('PATCH', 'releases', { version: '1.0.0', status: 'paused' }),
      await tenant.publish('1.0.1'),
      await tenant.publish('1.0.0'),
      await tenant.publish('1.0.1', { app: 'unknown' }),
      await tenant.manage('POST', 'releases', '{'),
      await tenant.manage('POST', 'releases', TOO_LARGE),
    ]) {
      expectLimited(answer);
      expect(limitOf(answer)).toEqual(['300', '0', answer.headers.get('retry-after')]);
    }
    expect((await wrong.manage('GET', 'apps')).status).toBe(401);
    // It is per key: neither another key of the organization nor a device is affected.
    expect((await stranger.manage('GET', 'apps')).status).toBe(200);
    expect(await second.releases()).toMatchObject([{ version: '1.0.0' }]);
    expect((await tenant.check('0.1')).status).toBe(200);
    expect((await admin(node, 'GET', `audit?org=${tenant.org}`)).status).toBe(200);
  });

  it('counts what is refused for any reason but a wrong key, and tells what is left (§4.14)', async () => {
    const tenant = await createTenant(node);
    const other = await tenant.anotherKey();
    expect(limitOf(await tenant.manage('GET', 'apps'))).toEqual(['300', '299', '60']);
    await tenant.publish('1.0.0');
    // The public part is right, so that the key is found: a stranger cannot use up the window of a key.
    const wrong = tenant.with({ secret: `${tenant.secret.slice(0, -2)}__` });
    expect(await tally(40, () => wrong.manage('GET', 'apps'))).toEqual({ 401: 40 });
    const refused = [
      await tenant.publish('1.0.0'),
      await tenant.publish('1.0.0', { app: 'unknown' }),
      await tenant.manage('POST', 'releases', TOO_LARGE),
      await tenant.publish('latest'),
    ];
    expect(refused.map(({ status }) => status)).toEqual([409, 404, 413, 400]);
    const left = refused.map((answer) => limitOf(answer).slice(0, 2));
    expect(left).toEqual(['297', '296', '295', '294'].map((each) => ['300', each]));
    expect(limitOf(await other.manage('GET', 'apps'))[1]).toBe('299');
    expect(limitOf(await wrong.manage('GET', 'apps'))).toEqual([null, null, null]);
  });
});

/** Returns the limit, what is left of it, and the seconds until something is. */
function limitOf({ headers }: Answer): (string | null)[] {
  return ['limit', 'remaining', 'reset'].map((name) => headers.get(`ratelimit-${name}`));
}

/** Expects the 429 of the contract: the message, and whole seconds from 1 to the window. */
function expectLimited(answer: Answer): void {
  expectError(answer, 429, 'Rate limit exceeded');
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  expect(Number(answer.headers.get('retry-after'))).toBeLessThanOrEqual(WINDOW_SECONDS);
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
