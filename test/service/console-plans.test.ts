// Tests the calls of the console API by which people plan rollouts, for publishers of the organization alone
// (docs/contract.md 27).

import { beforeEach, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { member } from '../support/person.ts';
import { serviceSuite } from '../support/service-suite.ts';
import {
  admin,
  check,
  createTenant,
  publish,
  report,
  send,
  type Tenant,
} from '../support/tenant.ts';

const PLAN = 'releases/plan';
const STEPS = [
  { rollout: 10, holdMinutes: 60 },
  { rollout: 100, holdMinutes: 0 },
];

serviceSuite('plans at the console', (node) => {
  let tenant: Tenant;
  let name: { app: string; channel: string; version: string };
  beforeEach(async () => {
    tenant = await createTenant(node);
    name = { app: tenant.app, channel: 'stable', version: '1.0.0' };
    expect((await publish(node, tenant, '1.0.0', { rollout: 0 })).status).toBe(201);
  });

  const read = () => admin(node, 'GET', `${PLAN}?${new URLSearchParams(name)}`);

  it('a release is read with its plan and its health, without a plan as well (§27.4)', async () => {
    expect(await read()).toMatchObject({
      ...{ status: 200, body: { plan: null, health: { offered: 0, verdict: 'too early' } } },
    });
    const guards = { failedPercent: 2 };
    await admin(node, 'POST', PLAN, { ...name, steps: STEPS, guards });
    expect((await read()).body).toMatchObject({
      plan: { ...name, createdBy: 'admin-token', guards },
      health: { rates: { failed: { limit: 2 } } },
    });
    const gone = new URLSearchParams({ ...name, version: '9.0.0' });
    expect(await admin(node, 'GET', `${PLAN}?${gone}`)).toMatchObject({
      ...{ status: 404, body: { error: 'Unknown release' } },
    });
  });

  it('a list has the plan of each release that is not over, with its verdict', async () => {
    await publish(node, tenant, '1.1.0');
    await admin(node, 'POST', PLAN, { ...name, steps: STEPS });
    await admin(node, 'PATCH', PLAN, { ...name, action: 'hold' });
    const list = () => admin(node, 'GET', `releases?app=${tenant.app}&channel=stable`);
    expect((await list()).body).toMatchObject({
      releases: [
        { version: '1.1.0', plan: null },
        { version: '1.0.0', plan: { status: 'held', verdict: 'too early', next: null } },
      ],
    });
    await admin(node, 'PATCH', PLAN, { ...name, action: 'cancel' });
    expect((await list()).body).toMatchObject({ releases: [{}, { plan: null }] });
  });

  it('each act is by publishers, with a reason in the audit, under the account (§27.3)', async () => {
    const publisher = await member(node, tenant.org, 'publisher');
    const made = await publisher.call('POST', PLAN, { ...name, steps: STEPS, reason: 'as agreed' });
    expect([made.status, made.body]).toMatchObject([200, { plan: { status: 'running' } }]);
    for (const [action, status] of [
      ['hold', 'held'],
      ['resume', 'running'],
      ['advance', 'running'],
      ['cancel', 'cancelled'],
    ]) {
      const done = await publisher.call('PATCH', PLAN, { ...name, action, reason: `${action}!` });
      expect([done.status, done.body], action).toMatchObject([200, { plan: { status } }]);
    }
    const late = await publisher.call('PATCH', PLAN, { ...name, action: 'hold' });
    expect([late.status, late.body?.error]).toEqual([409, 'The plan is cancelled']);
    const { body } = await admin(node, 'GET', `audit?org=${tenant.org}&action=plan`);
    const { entries } = body as { entries: { actor: string; action: string; reason: string }[] };
    const mine = entries.filter(({ actor }) => actor === `account:${publisher.email}`);
    expect(mine.map(({ action, reason }) => [action, reason])).toEqual([
      ['plan.cancel', 'cancel!'],
      ['plan.advance', 'advance!'],
      ['plan.resume', 'resume!'],
      ['plan.hold', 'hold!'],
      ['plan.create', 'as agreed'],
    ]);
  });

  it('viewers read, and may neither make nor steer a plan; for others there is no app', async () => {
    const viewer = await member(node, tenant.org, 'viewer');
    const other = await createTenant(node);
    const stranger = await member(node, other.org, 'owner');
    expect((await viewer.call('GET', `${PLAN}?${new URLSearchParams(name)}`)).status).toBe(200);
    for (const [method, body] of [
      ['POST', { ...name, steps: STEPS }],
      ['PATCH', { ...name, action: 'hold' }],
    ] as const) {
      expect((await viewer.call(method, PLAN, body)).status, method).toBe(403);
      expect((await stranger.call(method, PLAN, body)).body?.error, method).toBe('Unknown app');
      const more = await admin(node, method, PLAN, { ...body, more: 1 });
      expect([more.status, more.body?.error], method).toEqual([400, 'more: Unrecognized key']);
    }
    expect((await read()).body).toMatchObject({ plan: null });
  });

  it.each([
    [{ steps: [] }, 'steps: Must have at least 1 item'],
    [{ steps: STEPS, guards: { stuckAfterMinutes: 1 } }, 'guards.stuckAfterMinutes: Must be at'],
    [{ steps: STEPS, startAt: '2999-01-01T00:00:00Z' }, 'startAt: Must be at most 90 days ahead'],
  ])('a plan with %j is 400 and names the field (§27.1)', async (parts, error) => {
    const refused = await admin(node, 'POST', PLAN, { ...name, ...parts });
    expect(refused.status).toBe(400);
    expect(refused.body?.error).toContain(error);
  });
});

serviceSuite('the failure breakdown of a release', (node) => {
  it('as many reasons of failures are told as failures count, of one client address three (§27.9)', async () => {
    const app = await createTenant(node);
    const ids = Array.from({ length: 6 }, (_, index) => `device ${index}`);
    const devices = ids.map((deviceId) => ({ deviceId, version: '0.9.0', platform: 'linux' }));
    expect((await report(node, app, devices)).status).toBe(200);
    expect((await publish(node, app, '1.0.0')).status).toBe(201);
    const guards = { knownForMinutes: 0 };
    const of = { app: app.app, channel: 'stable', version: '1.0.0' };
    const plan = { ...of, steps: [{ rollout: 100, holdMinutes: 60 }], guards };
    expect((await admin(node, 'POST', PLAN, plan)).status).toBe(200);
    for (const device of ids) {
      expect((await check(node, app, '0.9.0', { device })).status).toBe(200);
    }
    await Promise.all(
      ids.map(async (device) => {
        const path = `/u/${app.app}/stable/linux/x86_64/0.9.0/failure`;
        const body = { version: '1.0.0', reason: 'disk full' };
        const headers = { 'x-service-device': device, 'x-forwarded-for': '203.0.113.7' };
        expect((await send(node, 'POST', path, { body, headers })).status).toBe(204);
      }),
    );
    const read = async (path: string) =>
      (await admin(node, 'GET', `${path}?${new URLSearchParams(of)}`)).body;
    await eventually('all is on record', async () => {
      const { health } = (await read(PLAN)) as { health: { offered: number; failed: number } };
      return health.offered === 6 && health.failed === 3;
    });
    expect(await read('releases/trouble')).toMatchObject({
      ...{ signals: { failed: { devices: 3 } }, reasons: [{ reason: 'disk full', devices: 3 }] },
    });
  });
});
