// Tests health and metrics (docs/operating/health.md).

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeOnBackends } from '../support/backend.ts';
import { freePort } from '../support/free-port.ts';
import { metricsOf } from '../support/metrics.ts';
import { type ServingNode, startNode } from '../support/node.ts';
import { check, createTenant, manage, publish, send } from '../support/tenant.ts';

type Sample = { readonly name: string; readonly labels: string; readonly value: number };

describeOnBackends('health', (backend) => {
  let node: ServingNode;
  beforeAll(async () => {
    node = await backend.start();
  });
  afterAll(() => node?.dispose());

  it.each(['/healthz', '/readyz', '/metrics'])(
    '%s asks for no key, and HEAD answers alike (Health)',
    async (path) => {
      const [get, head] = [await send(node, 'GET', path), await send(node, 'HEAD', path)];
      expect([get.status, head.status, head.text]).toEqual([200, 200, '']);
      expect((await send(node, 'POST', path)).status).toBe(405);
    },
  );

  it('a node that can decide is alive and ready (Health)', async () => {
    expect((await send(node, 'GET', '/healthz')).body).toEqual({ status: 'ok' });
    expect((await send(node, 'GET', '/readyz')).body).toEqual({ status: 'ready' });
  });

  it('metrics are Prometheus text: every sample has a TYPE and a number (Health)', async () => {
    const { headers, text } = await send(node, 'GET', '/metrics');
    expect(headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(text.endsWith('\n')).toBe(true);
    const types = new Set(
      [...text.matchAll(/^# TYPE (\S+) (?:counter|gauge|histogram|summary)$/gm)].map(
        ([, name]) => name,
      ),
    );
    for (const { name } of samples(text)) {
      expect(types.has(name) || types.has(name.replace(/_(sum|count|bucket)$/, '')), name).toBe(
        true,
      );
    }
    for (const name of [
      'sluice_checks_total',
      'sluice_requests_total',
      'sluice_first_offers_total',
      'sluice_catalog_loads_total',
      'sluice_catalogs',
    ]) {
      expect(types, name).toContain(name);
    }
  });

  it('counters move with what happens: checks by reason, requests by status, first offers (Health)', async () => {
    const tenant = await createTenant(node);
    const before = await metrics();
    await publish(node, tenant, '1.1.0');
    for (let round = 0; round < 3; round++)
      await check(node, tenant, '1.0.0', { device: randomUUID() });
    for (let round = 0; round < 2; round++)
      await check(node, tenant, '1.1.0', { device: randomUUID() });
    await check(node, tenant, 'x');
    await manage(node, { secret: 'wrong' }, 'GET', 'apps');
    const after = await metrics();
    const moved = (name: string, labels: string): number => {
      const value = (all: readonly Sample[]) =>
        all.find((each) => each.name === name && each.labels === labels)?.value ?? 0;
      return value(after) - value(before);
    };
    expect(moved('sluice_checks_total', '{reason="offered"}')).toBe(3);
    expect(moved('sluice_checks_total', '{reason="up-to-date"}')).toBe(2);
    expect(moved('sluice_first_offers_total', '{outcome="recorded"}')).toBe(1);
    expect(moved('sluice_requests_total', '{status="201"}')).toBe(1);
    expect(moved('sluice_requests_total', '{status="400"}')).toBe(1);
    expect(moved('sluice_requests_total', '{status="401"}')).toBe(1);
  });

  async function metrics(): Promise<readonly Sample[]> {
    return samples(await metricsOf(node));
  }
});

describe('a node that knows nothing and reaches no store', () => {
  it('is alive, but not ready and says why; a check is 503 with Retry-After, never 404 or 204 (Health)', async () => {
    const node = await startNode({
      DATABASE_URL: `postgres://nobody@127.0.0.1:${await freePort()}/none`,
    });
    try {
      expect((await send(node, 'GET', '/healthz')).status).toBe(200);
      const ready = await send(node, 'GET', '/readyz');
      expect([ready.status, ready.body?.error]).toEqual([
        503,
        expect.stringMatching(/ledger.*reached/),
      ]);
      const asked = await check(node, { app: 'some-app' }, '1.0.0');
      expect(asked.status).toBe(503);
      expect(Number(asked.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect((await send(node, 'GET', '/metrics')).status).toBe(200);
    } finally {
      await node.dispose();
    }
  });
});

/** The samples of a text in Prometheus' exposition format. */
function samples(text: string): Sample[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', labels = '', value = ''] =
        /^([A-Za-z_:][\w:]*)(\{[^}]*\})? (\S+)$/.exec(line) ?? [];
      expect(name, line).not.toBe('');
      // A gauge over no observations yet is NaN, which the format allows in any case.
      if (!/^nan$/i.test(value)) expect(Number(value), line).not.toBeNaN();
      return { name, labels, value: Number(value) };
    });
}
