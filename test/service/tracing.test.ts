// Tests traces (docs/operating/tracing.md) against a collector that takes OTLP: which spans there are, whose
// trace they belong to, and that there is nothing of it unless it is asked for. Those of a node of several
// processes are in monitoring.test.ts.

import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnBackends } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { deliver, enableWebhook, releaseEvent } from '../support/github.ts';
import type { ServingNode } from '../support/node.ts';
import { ARTIFACT, createTenant, send, type Tenant } from '../support/tenant.ts';
import {
  type CollectedSpan,
  startTraceCollector,
  type TraceCollector,
} from '../support/trace-collector.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const [SERVER, CLIENT] = [2, 3];
const PUBLISHED = 'POST /api/v1/releases';

/** Waits for a span that fits. */
async function spanOf(
  { spans }: TraceCollector,
  fits: (span: CollectedSpan) => boolean,
): Promise<CollectedSpan> {
  await eventually('the span is there', () => spans.some(fits));
  return spans.find(fits) as CollectedSpan;
}

function publishInTrace(tenant: Tenant, version: string) {
  const body = { app: tenant.app, channel: 'stable', version, artifacts: [ARTIFACT] };
  const traced = { 'x-request-id': `run-${version}`, traceparent: `00-${TRACE}-${PARENT}-01` };
  return tenant.manage('POST', 'releases', body, traced);
}

describeOnBackends('traces', (backend) => {
  let collector: TraceCollector;
  let node: ServingNode;
  let tenant: Tenant;

  beforeAll(async () => {
    collector = await startTraceCollector();
    const more = { OTEL_EXPORTER_OTLP_TIMEOUT: '3000', SECRET_KEY: 'a key of the tests' };
    node = await backend.start({ ...collector.settings, ...more });
    tenant = await createTenant(node);
  });
  afterAll(() => node?.dispose());

  it('a publish is a span of the trace that its caller named, with its ledger calls below', async () => {
    expect((await publishInTrace(tenant, '1.0.0')).status).toBe(201);
    const span = await spanOf(collector, ({ name }) => name === PUBLISHED);
    expect(span).toMatchObject({ traceId: TRACE, parentSpanId: PARENT, kind: SERVER });
    expect(span.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/api/v1/releases',
      'url.path': '/api/v1/releases',
      'http.response.status_code': 201,
      'sluice.request_id': 'run-1.0.0',
      'sluice.app': tenant.app,
    });
    expect(span.resource).toMatchObject({
      'service.name': 'sluice',
      'sluice.process': 'main',
      'deployment.environment.name': 'test',
    });
    const call = await spanOf(collector, ({ name }) => name === 'ledger publishRelease');
    expect(call).toMatchObject({ traceId: TRACE, parentSpanId: span.spanId, kind: CLIENT });
    expect(collector.headers['x-tenant']).toBe('acme');
    expect(JSON.stringify(collector.spans)).not.toContain(tenant.secret);
  });

  it('a first offer is a trace of its own, and the checks after it are none', async () => {
    expect((await tenant.check('0.1')).status).toBe(200);
    const span = await spanOf(collector, ({ name }) => name === 'first offer');
    expect(span.parentSpanId).toBeUndefined();
    expect(span.attributes).toEqual({
      'sluice.app': tenant.app,
      'sluice.channel': 'stable',
      'sluice.version': '1.0.0',
      'sluice.outcome': 'recorded',
    });
    const call = await spanOf(collector, ({ name }) => name === 'ledger recordFirstOffer');
    expect(call).toMatchObject({ traceId: span.traceId, parentSpanId: span.spanId });
    await tenant.check('0.1');
    await publishInTrace(tenant, '1.0.0');
    await spanOf(collector, ({ attributes }) => attributes['http.response.status_code'] === 409);
    expect(collector.spans.filter(({ name }) => name === 'first offer')).toHaveLength(1);
  });

  it('a delivery is a trace; the console and health are none', async () => {
    const hook = await enableWebhook(node, tenant);
    expect((await deliver(node, hook, releaseEvent('v2.0.0'))).status).toBe(200);
    await send(node, 'GET', '/healthz');
    const span = await spanOf(collector, ({ name }) => name === 'POST /wh/github/:app');
    expect(span.attributes).toMatchObject({ 'http.response.status_code': 200 });
    const routes = collector.spans.map(({ attributes }) => attributes['http.route']);
    const known = ['/api/v1/releases', '/wh/github/:app', undefined];
    expect(routes.filter((route) => !known.includes(route as string))).toEqual([]);
  });

  it('a stop sends what is left', async () => {
    const late = await startTraceCollector();
    const own = await backend.start({ ...late.settings, OTEL_BSP_SCHEDULE_DELAY: '60000' });
    const another = await createTenant(own);
    await publishInTrace(another, '1.0.0');
    expect(late.spans).toEqual([]);
    await own.stop();
    expect(late.spans.some(({ name }) => name === PUBLISHED)).toBe(true);
    await own.dispose();
    await late.stop();
  });

  it('a collector that goes away costs one line in the log, and nothing else', async () => {
    await collector.stop();
    const told = () => node.output().split('traces could not be sent').length - 1;
    expect((await tenant.publish('3.0.0')).status).toBe(201);
    await eventually('it is told', () => told() > 0);
    expect((await tenant.publish('3.0.1')).status).toBe(201);
    expect((await tenant.check('0.1')).status).toBe(200);
    await node.stop();
    expect(told()).toBe(1);
  });
});

it('nothing of it is loaded unless it is asked for', () => {
  const loadedBy = (module: string): string[] => {
    const path = fileURLToPath(new URL(`../../dist/${module}`, import.meta.url));
    const script = `
      import { createRequire } from 'node:module';
      await import(${JSON.stringify(path)});
      console.log(JSON.stringify(Object.keys(createRequire(${JSON.stringify(path)}).cache)));
      process.exit();`;
    const args = ['--input-type=module', '-e', script];
    const files = JSON.parse(execFileSync(process.execPath, args).toString()) as string[];
    return files.filter((file) => /@opentelemetry.(?!api\b)/.test(file));
  };
  expect(loadedBy('node/processes/serving-process.js')).toEqual([]);
  expect(loadedBy('observe/otel-tracing.js')).not.toEqual([]);
});
