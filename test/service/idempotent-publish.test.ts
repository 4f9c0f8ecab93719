// Tests idempotency keys over HTTP: a publishing call that is repeated publishes once (docs/contract.md
// 11.18).

import { beforeAll, beforeEach, expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import { auditOf, type Json } from '../support/published.ts';
import { serviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  admin,
  anotherKey,
  control,
  createTenant,
  manage,
  publish,
  randomId,
  send,
  type Tenant,
} from '../support/tenant.ts';

const CALLS_AT_ONCE = 8;

serviceSuite('idempotent publishing', (node) => {
  let owner: Tenant;
  let tenant: Tenant;
  beforeAll(async () => {
    owner = await createTenant(node);
  });
  // An app and a key of its own for each test.
  beforeEach(async () => {
    const app = `app-${randomId()}`;
    await admin(node, 'POST', 'apps', { org: owner.org, ref: app, name: 'App' });
    tenant = { ...(await anotherKey(node, owner)), app };
  });

  function call(body: unknown, key = 'run-1', path = 'releases', as = tenant): Promise<Answer> {
    const headers = { authorization: `Bearer ${as.secret}`, 'idempotency-key': key };
    return send(node, 'POST', `/api/v1/${path}`, { body, headers });
  }

  function bodyOf(version = '1.0.0', more: Json = {}): Json {
    return { app: tenant.app, channel: 'stable', version, ...more };
  }

  async function countPublished(): Promise<number> {
    return (await auditOf(node, tenant, `action=release&subject=${tenant.app}`)).length;
  }

  const statusOf = async (answer: Promise<Answer>) => (await answer).status;
  const outcomeOf = ({ status, headers, text }: Answer) => [
    ...[status, headers.get('idempotent-replayed'), text],
  ];

  it('the same key with the same body answers the first 201 again, whatever changed since (§11.18)', async () => {
    const body = bodyOf('1.0.0', { notes: 'First', rollout: 20 });
    const first = await call(body);
    expect(outcomeOf(first)).toEqual([201, null, first.text]);
    expect(outcomeOf(await call(body))).toEqual([201, 'true', first.text]);
    expect(await countPublished()).toBe(1);
    await control(node, tenant, '1.0.0', { rollout: 50, status: 'paused' });
    expect(outcomeOf(await call(body))).toEqual([201, 'true', first.text]);
  });

  it('of many at once one publishes, and all get its answer (§11.18)', async () => {
    const calls = Array.from({ length: CALLS_AT_ONCE }, () => call(bodyOf()));
    const answers = await Promise.all(calls);
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(201);
    const replayed = answers.filter(({ headers }) => headers.has('idempotent-replayed'));
    expect(replayed).toHaveLength(CALLS_AT_ONCE - 1);
    expect(await countPublished()).toBe(1);
  });

  it('with another body it is 409, on another channel and for a promotion too (§11.18)', async () => {
    await call(bodyOf());
    const promotion = { app: tenant.app, version: '1.0.0', from: 'stable', to: 'beta' };
    for (const answer of [
      await call(bodyOf('1.0.0', { notes: 'x' })),
      await call(`${JSON.stringify(bodyOf())} `),
      await call(bodyOf('1.0.0', { channel: 'beta' })),
      await call(promotion, 'run-1', 'releases/promote'),
    ]) {
      expectError(answer, 409, 'Idempotency-Key was used for another request');
    }
  });

  it('of two at once on two channels with one key exactly one publishes (§11.18)', async () => {
    const calls = ['stable', 'beta'].map((channel) => call(bodyOf('1.0.0', { channel })));
    const answers = await Promise.all(calls);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
    expect(await countPublished()).toBe(1);
  });

  it('is looked at after 401, 400 and 404, before 409, and not used up by a refusal (§11.18)', async () => {
    const body = bodyOf();
    expect(await statusOf(call(body))).toBe(201);
    const unknown = { ...tenant, secret: 'no' };
    expect(await statusOf(call(body, 'run-1', 'releases', unknown))).toBe(401);
    expect(await statusOf(call({ ...body, version: 'x' }))).toBe(400);
    expect(await statusOf(call({ ...body, channel: 'nightly' }))).toBe(404);
    expect(await statusOf(publish(node, tenant, '1.0.0'))).toBe(409);
    expect(await statusOf(call(body, 'run-2'))).toBe(409);
    expect(await statusOf(call(bodyOf('1.0.0', { x: 1 }), 'run-2'))).toBe(400);
    expect(await statusOf(call(bodyOf('2.0.0'), 'run-2'))).toBe(201);
  });

  it('belongs to its API key: another key has its own (§11.18)', async () => {
    const other = await anotherKey(node, tenant);
    expect(await statusOf(call(bodyOf()))).toBe(201);
    expect(await statusOf(call(bodyOf('1.1.0'), 'run-1', 'releases', other))).toBe(201);
    expect(await statusOf(call(bodyOf(), 'run-2', 'releases', other))).toBe(409);
  });

  it('is forgotten when the release is withdrawn (§11.18)', async () => {
    const first = await call(bodyOf());
    expect(await statusOf(manage(node, tenant, 'DELETE', 'releases', bodyOf()))).toBe(200);
    const again = await call(bodyOf());
    expect(outcomeOf(again)).toEqual([201, null, again.text]);
    expect(again.text).not.toBe(first.text);
  });

  it('works for a promotion as well, which may be impossible by now (§11.18)', async () => {
    await publish(node, tenant, '1.0.0');
    const body = { app: tenant.app, version: '1.0.0', from: 'stable', to: 'beta' };
    const promote = () => call(body, 'run-1', 'releases/promote');
    const first = await promote();
    expect(outcomeOf(await promote())).toEqual([201, 'true', first.text]);
    await control(node, tenant, '1.0.0', { status: 'deprecated' });
    expect((await promote()).text).toBe(first.text);
  });

  it.each([
    ['', 400, 'Must not be empty'],
    ['k'.repeat(129), 400, 'Must have at most 128 characters'],
    ['k'.repeat(128), 201, undefined],
  ])('a key has 1 to 128 characters (%#, §11.18)', async (key, status, reason) => {
    const answer = await call(bodyOf(), key);
    const error = reason === undefined ? undefined : `Idempotency-Key: ${reason}`;
    expect([answer.status, answer.body?.error]).toEqual([status, error]);
  });
});
