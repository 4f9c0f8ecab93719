// Tests health and metrics (docs/operating/health.md).

import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { describeOnBackends, suiteNode } from '../support/backend.ts';
import { freePort } from '../support/free-port.ts';
import { metricsOf } from '../support/metrics.ts';
import { startNode } from '../support/node.ts';
import { createTenant, send, Tenant } from '../support/tenant.ts';

type Sample = { readonly name: string; readonly labels: string; readonly value: number };

describeOnBackends('health', (backend) => {
  const node = suiteNode(() => backend.start());

  it('a node that can decide is alive and ready, and asks for no key; HEAD answers alike (Health)', async () => {
    for (const [path, body] of [
      ['/healthz', { status: 'ok' }],
      ['/readyz', { status: 'ready' }],
      ['/metrics', undefined],
    ] as const) {
      const [get, head] = [await send(node, 'GET', path), await send(node, 'HEAD', path)];
      expect([get.status, get.body, head.status, head.text]).toEqual([200, body, 200, '']);
      expect((await send(node, 'POST', path)).status).toBe(405);
    }
    const { headers, text } = await send(node, 'GET', '/metrics');
    expect(headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(text.endsWith('\n')).toBe(true);
  });

  it('counters move with what happens: checks by reason, requests by status, first offers (Health)', async () => {
    const tenant = await createTenant(node);
    const before = await metrics();
    await tenant.publish('1.1.0');
    for (const version of ['1.0.0', '1.0.0', '1.0.0', '1.1.0', '1.1.0']) {
      await tenant.check(version, { device: randomUUID() });
    }
    await tenant.check('x');
    await new Tenant(node, { secret: 'wrong' }).manage('GET', 'apps');
    const after = await metrics();
    for (const [name, labels, by] of [
      ['checks_total', 'reason="offered"', 3],
      ['checks_total', 'reason="up-to-date"', 2],
      ['first_offers_total', 'outcome="recorded"', 1],
      ...(['201', '400', '401'] as const).map(
        (status) => ['requests_total', `status="${status}"`, 1] as const,
      ),
    ] as const) {
      const value = (all: readonly Sample[]) =>
        all.find((each) => each.name === `sluice_${name}` && each.labels === `{${labels}}`)
          ?.value ?? 0;
      expect(value(after) - value(before), labels).toBe(by);
    }
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
      const asked = await new Tenant(node, { app: 'some-app' }).check('1.0.0');
      expect(asked.status).toBe(503);
      expect(Number(asked.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect((await send(node, 'GET', '/metrics')).status).toBe(200);
    } finally {
      await node.dispose();
    }
  });
});

/** Samples of a text in Prometheus' exposition format, which monitoring.test.ts holds against promtool. */
function samples(text: string): Sample[] {
  const matches = text.matchAll(/^([A-Za-z_:][\w:]*)(\{[^}]*\})? (\S+)$/gm);
  return [...matches].map(([, name = '', labels = '', value]) => {
    return { name, labels, value: Number(value) };
  });
}
