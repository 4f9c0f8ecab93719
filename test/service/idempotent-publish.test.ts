// Tests idempotency keys over HTTP: a publishing call that is repeated publishes once (docs/contract.md
// 11.18).

import { expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import { auditOf, type Json } from '../support/published.ts';
import { serviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  anotherKey,
  control,
  createTenant,
  manage,
  publish,
  randomId,
  send,
  type Tenant,
} from '../support/tenant.ts';

const USED = 'Idempotency-Key was used for another request';
const CALLS_AT_ONCE = 8;

serviceSuite('idempotent publishing', (node) => {
  function call(tenant: Tenant, key: string, body: unknown, path = 'releases'): Promise<Answer> {
    const headers = { authorization: `Bearer ${tenant.secret}`, 'idempotency-key': key };
    return send(node, 'POST', `/api/v1/${path}`, { body, headers });
  }

  function bodyOf(tenant: Tenant, version = '1.0.0', more: Json = {}): Json {
    return { app: tenant.app, channel: 'stable', version, ...more };
  }

  async function countPublished(tenant: Tenant): Promise<number> {
    return (await auditOf(node, tenant, 'action=release')).length;
  }

  const outcomeOf = ({ status, headers, text }: Answer) => [
    ...[status, headers.get('idempotent-replayed'), text],
  ];

  it('the same key with the same body answers the first 201 again, whatever changed since (§11.18)', async () => {
    const tenant = await createTenant(node);
    const body = bodyOf(tenant, '1.0.0', { notes: 'First', rollout: 20 });
    const first = await call(tenant, 'run-1', body);
    expect(outcomeOf(first)).toEqual([201, null, first.text]);
    expect(outcomeOf(await call(tenant, 'run-1', body))).toEqual([201, 'true', first.text]);
    expect(await countPublished(tenant)).toBe(1);
    await control(node, tenant, '1.0.0', { rollout: 50, status: 'paused' });
    expect(outcomeOf(await call(tenant, 'run-1', body))).toEqual([201, 'true', first.text]);
  });

  it('of many at once one publishes, and all get its answer (§11.18)', async () => {
    const tenant = await createTenant(node);
    const answers = await Promise.all(
      Array.from({ length: CALLS_AT_ONCE }, () => call(tenant, 'run-1', bodyOf(tenant))),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    const replayed = answers.filter(({ headers }) => headers.has('idempotent-replayed'));
    expect(replayed).toHaveLength(CALLS_AT_ONCE - 1);
    expect(await countPublished(tenant)).toBe(1);
  });

  it('with another body it is 409, on another channel and for a promotion too (§11.18)', async () => {
    const tenant = await createTenant(node);
    await call(tenant, 'run-1', bodyOf(tenant));
    const promotion = { app: tenant.app, version: '1.0.0', from: 'stable', to: 'beta' };
    for (const answer of [
      await call(tenant, 'run-1', bodyOf(tenant, '1.0.0', { notes: 'x' })),
      await call(tenant, 'run-1', `${JSON.stringify(bodyOf(tenant))} `),
      await call(tenant, 'run-1', bodyOf(tenant, '1.0.0', { channel: 'beta' })),
      await call(tenant, 'run-1', promotion, 'releases/promote'),
    ]) {
      expectError(answer, 409, USED);
    }
  });

  it('of two at once on two channels with one key exactly one publishes (§11.18)', async () => {
    const tenant = await createTenant(node);
    const answers = await Promise.all(
      ['stable', 'beta'].map((channel) =>
        call(tenant, 'run-1', bodyOf(tenant, '1.0.0', { channel })),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
    expect(await countPublished(tenant)).toBe(1);
  });

  it('a refused call does not use the key up (§11.18)', async () => {
    const tenant = await createTenant(node);
    await publish(node, tenant, '1.0.0');
    expect((await call(tenant, 'run-1', bodyOf(tenant))).status).toBe(409);
    expect((await call(tenant, 'run-1', bodyOf(tenant, '1.0.0', { x: 1 }))).status).toBe(400);
    expect((await call(tenant, 'run-1', bodyOf(tenant, '2.0.0'))).status).toBe(201);
  });

  it('is looked at after 401, 400 and 404, and before 409 (§11.18)', async () => {
    const tenant = await createTenant(node);
    const body = bodyOf(tenant);
    await call(tenant, 'run-1', body);
    expect((await call({ ...tenant, secret: 'no' }, 'run-1', body)).status).toBe(401);
    expect((await call(tenant, 'run-1', { ...body, version: 'x' })).status).toBe(400);
    expect((await call(tenant, 'run-1', { ...body, channel: 'nightly' })).status).toBe(404);
    expect((await publish(node, tenant, '1.0.0')).status).toBe(409);
  });

  it('belongs to its API key: another key has its own (§11.18)', async () => {
    const tenant = await createTenant(node);
    const other = await anotherKey(node, tenant);
    const stranger = await createTenant(node);
    expect((await call(tenant, 'run-1', bodyOf(tenant))).status).toBe(201);
    expect((await call(other, 'run-1', bodyOf(tenant, '1.1.0'))).status).toBe(201);
    expect((await call(other, 'run-2', bodyOf(tenant))).status).toBe(409);
    expect((await call(stranger, 'run-1', bodyOf(stranger))).status).toBe(201);
  });

  it('is forgotten when the release is withdrawn (§11.18)', async () => {
    const tenant = await createTenant(node);
    const first = await call(tenant, 'run-1', bodyOf(tenant));
    expect((await manage(node, tenant, 'DELETE', 'releases', bodyOf(tenant))).status).toBe(200);
    const again = await call(tenant, 'run-1', bodyOf(tenant));
    expect(outcomeOf(again)).toEqual([201, null, again.text]);
    expect(again.text).not.toBe(first.text);
  });

  it('works for a promotion as well (§11.18)', async () => {
    const tenant = await createTenant(node);
    await publish(node, tenant, '1.0.0');
    const body = { app: tenant.app, version: '1.0.0', from: 'stable', to: 'beta' };
    const promote = () => call(tenant, 'run-1', body, 'releases/promote');
    const first = await promote();
    expect(outcomeOf(await promote())).toEqual([201, 'true', first.text]);
    // Once the source cannot be promoted any more, the first answer is still the answer.
    await control(node, tenant, '1.0.0', { status: 'deprecated' });
    expect((await promote()).text).toBe(first.text);
  });

  it('a key has 1 to 128 characters (§11.18)', async () => {
    const tenant = await createTenant(node);
    for (const [key, reason] of [
      ['', 'Must not be empty'],
      ['k'.repeat(129), 'Must have at most 128 characters'],
    ] as const) {
      const answer = await call(tenant, key, bodyOf(tenant));
      expectError(answer, 400, `Idempotency-Key: ${reason}`);
    }
    const longest = randomId().padEnd(128, '-');
    expect((await call(tenant, longest, bodyOf(tenant))).status).toBe(201);
  });
});
