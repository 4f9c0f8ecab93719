// Tests idempotency keys over HTTP: a publishing call that is repeated publishes once (docs/contract.md
// 11.18). Calls at once on two nodes are tested in test/release/calls-at-once.test.ts, how long a key is kept
// in test/store/ledger/idempotency-contract.ts.

import { expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import { serviceSuite, testTenant } from '../support/service-suite.ts';
import type { Answer, Json } from '../support/tenant.ts';

const CALLS_AT_ONCE = 8;

serviceSuite('idempotent publishing (§11.18)', (node) => {
  const tenant = testTenant(node);

  function call(body: unknown, key = 'run-1', path = 'releases', as = tenant): Promise<Answer> {
    return as.manage('POST', path, body, { 'idempotency-key': key });
  }

  const bodyOf = (version = '1.0.0', more: Json = {}): Json => {
    return { app: tenant.app, channel: 'stable', version, ...more };
  };
  const countPublished = async () => (await tenant.audit('action=release.publish')).length;
  const statusOf = async (answer: Promise<Answer>) => (await answer).status;
  const outcomeOf = ({ status, headers, text }: Answer) => [
    ...[status, headers.get('idempotent-replayed'), text],
  ];

  it('the same key and body get the first 201 again, whatever changed since, until a withdrawal', async () => {
    const body = bodyOf('1.0.0', { notes: 'First', rollout: 20 });
    const first = await call(body);
    expect(outcomeOf(first)).toEqual([201, null, first.text]);
    await tenant.control('1.0.0', { rollout: 50, status: 'paused' });
    expect(outcomeOf(await call(body))).toEqual([201, 'true', first.text]);
    expect(await countPublished()).toBe(1);
    expect(await statusOf(tenant.manage('DELETE', 'releases', bodyOf()))).toBe(200);
    const again = await call(body);
    expect(outcomeOf(again)).toEqual([201, null, again.text]);
    expect(again.text).not.toBe(first.text);
  });

  it('of many at once one publishes, and all get its answer', async () => {
    const calls = Array.from({ length: CALLS_AT_ONCE }, () => call(bodyOf()));
    const answers = await Promise.all(calls);
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(201);
    const replayed = answers.filter(({ headers }) => headers.has('idempotent-replayed'));
    expect(replayed).toHaveLength(CALLS_AT_ONCE - 1);
    expect(await countPublished()).toBe(1);
  });

  it('another body, channel or endpoint is 409, also of two at once', async () => {
    const calls = ['stable', 'beta'].map((channel) => call(bodyOf('1.0.0', { channel }), 'run-2'));
    const answers = await Promise.all(calls);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
    await call(bodyOf('1.1.0'));
    const promotion = { app: tenant.app, version: '1.1.0', from: 'stable', to: 'beta' };
    for (const answer of [
      await call(bodyOf('1.1.0', { notes: 'x' })),
      await call(`${JSON.stringify(bodyOf('1.1.0'))} `),
      await call(promotion, 'run-1', 'releases/promote'),
    ]) {
      expectError(answer, 409, 'Idempotency-Key was used for another request');
    }
  });

  it('is looked at after 401, 400 and 404, before 409, not used up by a refusal, and its API key’s own', async () => {
    const body = bodyOf();
    expect(await statusOf(call(body))).toBe(201);
    const unknown = tenant.with({ secret: 'no' });
    expect(await statusOf(call(body, 'run-1', 'releases', unknown))).toBe(401);
    expect(await statusOf(call({ ...body, version: 'x' }))).toBe(400);
    expect(await statusOf(call({ ...body, channel: 'nightly' }))).toBe(404);
    expect(await statusOf(tenant.publish('1.0.0'))).toBe(409);
    expect(await statusOf(call(body, 'run-2'))).toBe(409);
    expect(await statusOf(call(bodyOf('1.0.0', { x: 1 }), 'run-2'))).toBe(400);
    expect(await statusOf(call(bodyOf('2.0.0'), 'run-2'))).toBe(201);
    const other = await tenant.anotherKey();
    expect(await statusOf(call(bodyOf('3.0.0'), 'run-1', 'releases', other))).toBe(201);
    expect(await statusOf(call(body, 'run-2', 'releases', other))).toBe(409);
  });

  it('works for a promotion as well, which may be impossible by now', async () => {
    await tenant.publish('1.0.0');
    const body = { app: tenant.app, version: '1.0.0', from: 'stable', to: 'beta' };
    const promote = () => call(body, 'run-1', 'releases/promote');
    const first = await promote();
    await tenant.control('1.0.0', { status: 'deprecated' });
    expect(outcomeOf(await promote())).toEqual([201, 'true', first.text]);
  });

  it('a key has 1 to 128 characters', async () => {
    for (const [key, reason] of [
      ['', 'Must not be empty'],
      ['k'.repeat(129), 'Must have at most 128 characters'],
    ] as const) {
      expectError(await call(bodyOf(), key), 400, `Idempotency-Key: ${reason}`);
    }
    expect(await statusOf(call(bodyOf(), 'k'.repeat(128)))).toBe(201);
  });
});
