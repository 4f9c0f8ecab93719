// Tests idempotency keys over HTTP: a publishing call that is repeated publishes once (docs/contract.md
// 11.18).

import { describe, expect, it } from 'vitest';
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

const USED = 'Idempotency-Key was used for another request';
const CALLS_AT_ONCE = 8;

type Json = Record<string, unknown>;

serviceSuite('idempotent publishing', (node) => {
  function call(tenant: Tenant, key: string, body: unknown, path = 'releases'): Promise<Answer> {
    const headers = { authorization: `Bearer ${tenant.secret}`, 'idempotency-key': key };
    return send(node, 'POST', `/api/v1/${path}`, { body, headers });
  }

  function bodyOf(tenant: Tenant, version: string, more: Json = {}): Json {
    return { app: tenant.app, channel: 'stable', version, ...more };
  }

  async function countPublished(tenant: Tenant): Promise<number> {
    const { body } = await admin(node, 'GET', `audit?org=${tenant.org}&action=release&limit=1000`);
    return (body?.entries as Json[] | undefined)?.length ?? 0;
  }

  it('the same key with the same body answers the first 201 again, and says so (§11.18)', async () => {
    const tenant = await createTenant(node);
    const body = bodyOf(tenant, '1.0.0', { notes: 'First' });
    const first = await call(tenant, 'run-1', body);
    expect([first.status, first.headers.get('idempotent-replayed')]).toEqual([201, null]);
    const again = await call(tenant, 'run-1', body);
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    expect(again.text).toBe(first.text);
    expect(await countPublished(tenant)).toBe(1);
  });

  it('the answer is the first one also when the release was changed since (§11.18)', async () => {
    const tenant = await createTenant(node);
    const body = bodyOf(tenant, '1.0.0', { rollout: 20 });
    const first = await call(tenant, 'run-1', body);
    await control(node, tenant, '1.0.0', { rollout: 50, status: 'paused' });
    expect((await call(tenant, 'run-1', body)).text).toBe(first.text);
  });

  it('of many at once one publishes, and all get its answer (§11.18)', async () => {
    const tenant = await createTenant(node);
    const body = bodyOf(tenant, '1.0.0');
    const answers = await Promise.all(
      Array.from({ length: CALLS_AT_ONCE }, () => call(tenant, 'run-1', body)),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    const replayed = answers.filter(({ headers }) => headers.has('idempotent-replayed'));
    expect(replayed).toHaveLength(CALLS_AT_ONCE - 1);
    expect(await countPublished(tenant)).toBe(1);
  });

  it('with another body it is 409, on another channel and for a promotion too (§11.18)', async () => {
    const tenant = await createTenant(node);
    await call(tenant, 'run-1', bodyOf(tenant, '1.0.0'));
    const promotion = { app: tenant.app, version: '1.0.0', from: 'stable', to: 'beta' };
    const answers = [
      await call(tenant, 'run-1', bodyOf(tenant, '1.0.0', { notes: 'x' })),
      await call(tenant, 'run-1', `${JSON.stringify(bodyOf(tenant, '1.0.0'))} `),
      await call(tenant, 'run-1', bodyOf(tenant, '1.0.0', { channel: 'beta' })),
      await call(tenant, 'run-1', promotion, 'releases/promote'),
    ];
    for (const answer of answers) {
      expect([answer.status, answer.body]).toEqual([409, { error: USED }]);
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
    expect((await call(tenant, 'run-1', bodyOf(tenant, '1.0.0'))).status).toBe(409);
    expect((await call(tenant, 'run-1', bodyOf(tenant, '1.0.0', { x: 1 }))).status).toBe(400);
    expect((await call(tenant, 'run-1', bodyOf(tenant, '2.0.0'))).status).toBe(201);
  });

  it('is looked at after 401, 400 and 404, and before 409 (§11.18)', async () => {
    const tenant = await createTenant(node);
    const body = bodyOf(tenant, '1.0.0');
    await call(tenant, 'run-1', body);
    const wrong = { ...tenant, secret: 'no' };
    expect((await call(wrong, 'run-1', body)).status).toBe(401);
    expect((await call(tenant, 'run-1', { ...body, version: 'x' })).status).toBe(400);
    expect((await call(tenant, 'run-1', { ...body, channel: 'nightly' })).status).toBe(404);
    expect((await publish(node, tenant, '1.0.0')).status).toBe(409);
  });

  it('belongs to its API key: another key has its own (§11.18)', async () => {
    const tenant = await createTenant(node);
    const other = await anotherKey(node, tenant);
    const stranger = await createTenant(node);
    expect((await call(tenant, 'run-1', bodyOf(tenant, '1.0.0'))).status).toBe(201);
    expect((await call(other, 'run-1', bodyOf(tenant, '1.1.0'))).status).toBe(201);
    expect((await call(other, 'run-2', bodyOf(tenant, '1.0.0'))).status).toBe(409);
    expect((await call(stranger, 'run-1', bodyOf(stranger, '1.0.0'))).status).toBe(201);
  });

  it('is forgotten when the release is withdrawn (§11.18)', async () => {
    const tenant = await createTenant(node);
    const body = bodyOf(tenant, '1.0.0');
    const first = await call(tenant, 'run-1', body);
    const place = { app: tenant.app, channel: 'stable', version: '1.0.0' };
    expect((await manage(node, tenant, 'DELETE', 'releases', place)).status).toBe(200);
    const again = await call(tenant, 'run-1', body);
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, null]);
    expect(again.text).not.toBe(first.text);
  });

  it('works for a promotion as well (§11.18)', async () => {
    const tenant = await createTenant(node);
    await publish(node, tenant, '1.0.0');
    const body = { app: tenant.app, version: '1.0.0', from: 'stable', to: 'beta' };
    const first = await call(tenant, 'run-1', body, 'releases/promote');
    const again = await call(tenant, 'run-1', body, 'releases/promote');
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    // Once the source cannot be promoted any more, the first answer is still the answer.
    await control(node, tenant, '1.0.0', { status: 'deprecated' });
    expect((await call(tenant, 'run-1', body, 'releases/promote')).text).toBe(first.text);
  });

  describe('a key', () => {
    it.each([
      ['', 'Must not be empty'],
      ['k'.repeat(129), 'Must have at most 128 characters'],
    ])('%j is 400', async (key, reason) => {
      const tenant = await createTenant(node);
      const answer = await call(tenant, key, bodyOf(tenant, '1.0.0'));
      expect([answer.status, answer.body]).toEqual([400, { error: `Idempotency-Key: ${reason}` }]);
    });

    it('may have 128 characters', async () => {
      const tenant = await createTenant(node);
      const key = randomId().padEnd(128, '-');
      expect((await call(tenant, key, bodyOf(tenant, '1.0.0'))).status).toBe(201);
    });
  });
});
