// Tests the OpenAPI document as the service answers it, and in the page for people (docs/contract.md 26). A
// client that a generator made of it is in test/release/openapi-client.test.ts.

import { expect, it } from 'vitest';
import { openapiDocument } from '../../src/http/reference/openapi-document.ts';
import { version } from '../../src/node/version.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { send } from '../support/tenant.ts';

serviceSuite('the OpenAPI document', (node) => {
  it('is answered to everybody, the same until the service changes (§26.1)', async () => {
    const answer = await send(node, 'GET', '/api/v1/openapi.json');
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual(JSON.parse(JSON.stringify(openapiDocument(version()))));
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    const etag = answer.headers.get('etag') ?? '';
    const known = { headers: { 'if-none-match': etag } };
    const again = await send(node, 'GET', '/api/v1/openapi.json', known);
    expect([again.status, again.text]).toEqual([304, '']);
    const post = await send(node, 'POST', '/api/v1/openapi.json');
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  it('tells which writes have a dry run; the others refuse one, and the console as well (§23.1)', async () => {
    const { body } = await send(node, 'GET', '/api/v1/openapi.json');
    const { paths } = body as { paths: Record<string, Record<string, { parameters?: unknown }>> };
    const writes = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations)
        .filter(([method]) => ['post', 'put', 'patch', 'delete'].includes(method))
        .map(([method, { parameters }]) => {
          const names = ((parameters ?? []) as { name: string }[]).map(({ name }) => name);
          return { method: method.toUpperCase(), path, hasDryRun: names.includes('dryRun') };
        }),
    );
    expect(writes.filter(({ hasDryRun }) => hasDryRun).length).toBe(4);
    const console = ['POST', 'PATCH', 'DELETE'].map((method) => ({
      ...{ method, path: '/console/api/releases', hasDryRun: false },
    }));
    for (const { method, path, hasDryRun } of [...writes, ...console]) {
      const address = path.replaceAll(/\{\w+\}/g, 'x');
      const { status, body: refused } = await send(node, method, `${address}?dryRun=true`);
      const isRefused = status === 400 && refused?.error === 'dryRun: Has no dry run';
      expect(isRefused, `${method} ${path}`).toBe(!hasDryRun);
    }
  });

  it('is shown to people by a page that loads nothing from elsewhere (§26.2)', async () => {
    const page = await send(node, 'GET', '/docs');
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain('unsafe');
    const addresses = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, to]) => to ?? '');
    expect(addresses.length).toBeGreaterThan(3);
    for (const address of addresses) {
      // Relative, because the page may stand below a path that a proxy takes off.
      expect(address).toMatch(/^\w+(?:\/|$)/);
      const { status, headers } = await send(node, 'GET', `/${address}`);
      expect([address, status]).toEqual([address, 200]);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    }
    expect((await send(node, 'GET', '/docs/assets/nothing.js')).status).toBe(404);
  });
});
