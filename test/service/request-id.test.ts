// Tests the headers that tell callers of the management API about their call: the request's id, which the log
// and the audit have too, and how to authenticate (docs/contract.md 4.12 and 4.13).

import { expect, it } from 'vitest';
import { deliver, enableWebhook, releaseEvent } from '../support/github.ts';
import { ADMIN_TOKEN } from '../support/node.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { type Answer, createTenant, send, type Tenant } from '../support/tenant.ts';

const MADE = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

serviceSuite('what every management answer tells', (node) => {
  const ask = (tenant: Tenant, id: string, method = 'GET', path = 'apps') =>
    tenant.manage(method, path, undefined, { 'x-request-id': id });
  const idOf = ({ headers }: Answer) => headers.get('x-request-id');

  it('takes over the id of the caller on every status; only a 401 names the scheme (§4.12, §4.13)', async () => {
    const tenant = await createTenant(node);
    const id = `deploy-42.a_B${'x'.repeat(51)}`;
    expect(id).toHaveLength(64);
    const answers = [
      await ask(tenant, id),
      await ask(tenant, id, 'HEAD'),
      await ask(tenant, id, 'POST', 'releases'),
      await ask(tenant, id, 'PUT'),
      await ask(tenant.with({ secret: 'wrong' }), id),
      await send(node, 'GET', '/api/v1/nothing/%', { headers: { 'x-request-id': id } }),
    ];
    const schemes = answers.map((each) => [each.status, each.headers.get('www-authenticate')]);
    expect(schemes).toEqual([
      ...[200, 200, 400, 405].map((status) => [status, null]),
      ...[
        [401, 'Bearer'],
        [404, null],
      ],
    ]);
    // The last is no endpoint, hence none of its promises.
    expect(answers.map(idOf)).toEqual([...Array(5).fill(id), null]);
    const nobody = await send(node, 'POST', '/api/v1/releases');
    expect([nobody.status, nobody.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
  });

  it('makes an id where the caller has none, or what is none (§4.12)', async () => {
    const tenant = await createTenant(node);
    const made = [idOf(await tenant.manage('GET', 'apps'))];
    for (const id of ['', 'x'.repeat(65), 'two words', 'a,b', 'ü', '{"a":1}']) {
      made.push(idOf(await ask(tenant, id)));
    }
    for (const id of made) expect(id).toMatch(MADE);
    expect(new Set(made).size).toBe(made.length);
  });

  it('the audit has the id of what a key, an operator and a webhook changed; devices are told none (§4.12)', async () => {
    const tenant = await createTenant(node);
    const published = await tenant.publish('1.0.0');
    const hook = await enableWebhook(node, tenant);
    const delivered = await deliver(node, hook, releaseEvent('v2.0.0'));
    expect([published.status, delivered.status]).toEqual([201, 200]);
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'x-request-id': 'rename-7' };
    const body = { app: tenant.app, name: 'nightly' };
    const created = await send(node, 'POST', '/console/api/channels', { headers, body });
    expect([created.status, idOf(created)]).toEqual([201, 'rename-7']);
    const entries = await tenant.audit();
    expect(entries.map(({ action, requestId }) => [action, requestId])).toEqual(
      expect.arrayContaining([
        ['release.publish', idOf(published)],
        ['release.publish', idOf(delivered)],
        ['channel.create', 'rename-7'],
      ]),
    );
    for (const answer of [published, delivered]) expect(idOf(answer)).toMatch(MADE);
    const told = await tenant.check('0.1');
    expect(told.status).toBe(200);
    const names = [...told.headers.keys()];
    expect(names.filter((name) => /^ratelimit|^x-request/.test(name))).toEqual([]);
  });
});
