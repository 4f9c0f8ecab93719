// Tests the headers that tell callers of the management API about their call: the request's id, which the log
// and the audit have too, what is left of the limit, and how to authenticate (docs/contract.md 4.12 to 4.14).

import { expect, it } from 'vitest';
import { deliver, enableWebhook, releaseEvent } from '../support/github.ts';
import { ADMIN_TOKEN } from '../support/node.ts';
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

const MADE = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

serviceSuite('what every management answer tells', (node) => {
  function ask(tenant: Pick<Tenant, 'secret'>, id: string, method = 'GET', path = 'apps') {
    const headers = { authorization: `Bearer ${tenant.secret}`, 'x-request-id': id };
    return send(node, method, `/api/v1/${path}`, { headers });
  }
  const idOf = ({ headers }: Answer) => headers.get('x-request-id');

  async function auditedIds(tenant: Tenant): Promise<unknown[]> {
    const { body } = await admin(node, 'GET', `audit?org=${tenant.org}`);
    const entries = body?.entries as { action: string; requestId: unknown }[] | undefined;
    return (entries ?? []).map(({ action, requestId }) => [action, requestId]);
  }

  it('takes over the id of the caller, on every status (§4.12)', async () => {
    const tenant = await createTenant(node);
    const id = `deploy-42.a_B${'x'.repeat(51)}`;
    expect(id).toHaveLength(64);
    const answers = [
      await ask(tenant, id),
      await ask(tenant, id, 'HEAD'),
      await ask(tenant, id, 'POST', 'releases'),
      await ask(tenant, id, 'PUT'),
      await ask({ secret: 'wrong' }, id),
      await send(node, 'GET', '/api/v1/nothing/%', { headers: { 'x-request-id': id } }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 400, 405, 401, 404]);
    expect(answers.slice(0, 5).map(idOf)).toEqual(Array.from({ length: 5 }, () => id));
    // No endpoint, hence none of its promises.
    expect(answers.slice(5).map(idOf)).toEqual([null]);
  });

  it.each(['', 'x'.repeat(65), 'two words', 'a,b', 'ü', '{"a":1}'])(
    'makes an id where the caller has %j for one (§4.12)',
    async (id) => {
      const tenant = await createTenant(node);
      const first = await ask(tenant, id);
      expect(first.status).toBe(200);
      expect(idOf(first)).toMatch(MADE);
      expect(idOf(await manage(node, tenant, 'GET', 'apps'))).not.toBe(idOf(first));
    },
  );

  it('the audit has the id of what a key, an operator and a webhook changed (§4.12)', async () => {
    const tenant = await createTenant(node);
    const published = await publish(node, tenant, '1.0.0');
    const hook = await enableWebhook(node, tenant);
    const delivered = await deliver(node, hook, releaseEvent('v2.0.0'));
    expect([published.status, delivered.status]).toEqual([201, 200]);
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'x-request-id': 'rename-7' };
    const path = '/console/api/channels';
    const body = { app: tenant.app, name: 'nightly' };
    const created = await send(node, 'POST', path, { headers, body });
    expect([created.status, idOf(created)]).toEqual([201, 'rename-7']);
    expect(await auditedIds(tenant)).toEqual(
      expect.arrayContaining([
        ['release.publish', idOf(published)],
        ['release.publish', idOf(delivered)],
        ['channel.create', 'rename-7'],
      ]),
    );
    expect(idOf(published)).toMatch(MADE);
    expect(idOf(delivered)).toMatch(MADE);
  });

  it('a 401 names the scheme; other answers do not (§4.13)', async () => {
    const tenant = await createTenant(node);
    const schemeOf = ({ headers }: Answer) => headers.get('www-authenticate');
    expect(schemeOf(await manage(node, { secret: 'wrong' }, 'GET', 'apps'))).toBe('Bearer');
    expect(schemeOf(await send(node, 'POST', '/api/v1/releases'))).toBe('Bearer');
    expect(schemeOf(await manage(node, tenant, 'GET', 'apps'))).toBeNull();
  });

  it('tells what is left of the limit, per key (§4.14)', async () => {
    const tenant = await createTenant(node);
    const limitOf = ({ headers }: Answer) =>
      ['limit', 'remaining', 'reset'].map((name) => headers.get(`ratelimit-${name}`));
    expect(limitOf(await manage(node, tenant, 'GET', 'apps'))).toEqual(['300', '299', '60']);
    const refused = await publish(node, tenant, 'latest');
    const [limit, remaining, reset] = limitOf(refused);
    expect([refused.status, limit, remaining]).toEqual([400, '300', '298']);
    expect(Number(reset)).toBeGreaterThan(50);
    const other = await anotherKey(node, tenant);
    expect(limitOf(await manage(node, other, 'GET', 'apps'))[1]).toBe('299');
    await Promise.all(Array.from({ length: 297 }, () => manage(node, tenant, 'GET', 'apps')));
    expect(limitOf(await manage(node, tenant, 'GET', 'apps')).slice(0, 2)).toEqual(['300', '0']);
    const beyond = await manage(node, tenant, 'GET', 'apps');
    expect(beyond.status).toBe(429);
    expect(limitOf(beyond)).toEqual(['300', '0', beyond.headers.get('retry-after')]);
    expect(limitOf(await manage(node, { secret: 'wrong' }, 'GET', 'apps'))).toEqual([
      null,
      null,
      null,
    ]);
  });

  it('devices are told nothing of it', async () => {
    const tenant = await createTenant(node);
    await publish(node, tenant, '1.0.0');
    const answer = await check(node, tenant, '0.1');
    expect(answer.status).toBe(200);
    expect([...answer.headers.keys()].filter((name) => /^ratelimit|^x-request/.test(name))).toEqual(
      [],
    );
  });
});
