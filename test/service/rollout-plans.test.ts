// Tests rollout plans, the health of releases and failures of devices over HTTP, with keys and at the console
// (docs/contract.md 27): what is answered, and who may. What a plan does when is tested in
// test/domain/rollout, what the ledger does with it in test/store/ledger/plan-contract.ts and
// guard-contract.ts.

import { expect, it } from 'vitest';
import { eventually, sleep } from '../support/eventually.ts';
import { expectError } from '../support/expect-error.ts';
import { member } from '../support/person.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { admin, createTenant, send, type Tenant } from '../support/tenant.ts';

const PLAN = 'releases/plan';
const STEPS = [
  { rollout: 10, holdMinutes: 60 },
  { rollout: 100, holdMinutes: 0 },
];

serviceSuite('rollout plans', (node) => {
  const nameOf = ({ app }: Tenant, version = '1.0.0') => ({ app, channel: 'stable', version });
  const addressOf = (tenant: Tenant, path: string, more: Record<string, string> = {}) =>
    `${path}?${new URLSearchParams({ ...nameOf(tenant), ...more })}`;

  const put = (tenant: Tenant, parts: object = {}, version = '1.0.0') =>
    tenant.manage('PUT', PLAN, { ...nameOf(tenant, version), steps: STEPS, ...parts });
  const steer = (tenant: Tenant, action: string) =>
    tenant.manage('PATCH', PLAN, { ...nameOf(tenant), action });
  const read = (tenant: Tenant) => tenant.manage('GET', addressOf(tenant, PLAN));
  const readByPerson = (tenant: Tenant) => admin(node, 'GET', addressOf(tenant, PLAN));

  /** A tenant with 1.0.0 at 0 %. */
  const planless = () => createTenant(node, ['1.0.0', { rollout: 0 }]);

  /** Waits for something that a driver does, and asks seldom: a key may not ask without end. */
  const untilDriven = (what: string, isThere: () => Promise<boolean>) =>
    eventually(what, async () => {
      await sleep(100);
      return isThere();
    });

  it('a plan begins its first step, goes on when its wait is ended, and is completed (§27.2, §27.3)', async () => {
    const tenant = await planless();
    expectError(await put(tenant, {}, '2.0.0'), 404, 'Unknown release');
    expectError(await read(tenant), 404, 'No plan');
    expectError(await steer(tenant, 'hold'), 404, 'No plan');
    const made = await put(tenant);
    expect(made.status).toBe(200);
    const running = { ...nameOf(tenant), status: 'running', step: null };
    const steps = [{ ...STEPS[0], startedAt: null, endedAt: null }, {}];
    const plan = { ...running, guards: null, onTrip: 'pause', steps };
    expect(made.body).toMatchObject({ plan });
    expect((await put(tenant)).status).toBe(409);
    const reached = async (rollout: number) =>
      untilDriven(`the step of ${rollout} % began`, async () => {
        const [, now] = (await tenant.servedAs('1.0.0')) as unknown[];
        return now === rollout;
      });
    await reached(10);
    expect((await steer(tenant, 'advance')).status).toBe(200);
    await reached(100);
    await untilDriven('the plan is completed', async () => {
      const { plan } = (await read(tenant)).body as { plan: { status: string } };
      return plan.status === 'completed';
    });
    expectError(await steer(tenant, 'hold'), 409, 'The plan is completed');
  });

  it('a plan comes with a release that is published or promoted, which begins at 0 % (§27.8)', async () => {
    const tenant = await createTenant(node);
    const plan = { steps: [{ rollout: 5, holdMinutes: 600 }] };
    const atZero = { status: 201, body: { release: { rolloutPct: 0 } } };
    expect(await tenant.publish('1.0.0', { plan })).toMatchObject(atZero);
    const promotion = { app: tenant.app, version: '1.0.0', from: 'stable', to: 'beta', plan };
    const promoted = await tenant.manage('POST', 'releases/promote', promotion);
    expect(promoted).toMatchObject(atZero);
  });

  it('a plan that is wrong is 400 and names the field (§27.1)', async () => {
    const tenant = await planless();
    const step = { rollout: 5, holdMinutes: 1 };
    for (const [parts, error] of [
      [{ steps: [] }, 'steps: Must have at least 1 item'],
      [{ steps: [{ ...step, rollout: 0 }] }, 'steps.0.rollout: Must be at least 1'],
      [{ steps: [step, step] }, 'steps.1.rollout: Must be above the step before it'],
      [{ steps: [{ ...step, holdMinutes: 43_201 }] }, 'steps.0.holdMinutes: Must be at most 43200'],
      [{ guards: { failedPercent: 101 } }, 'guards.failedPercent: Must be at most 100'],
      [{ guards: { stuckAfterMinutes: 14 } }, 'guards.stuckAfterMinutes: Must be at least 15'],
      [{ guards: { silentAfterMinutes: 1 } }, 'guards.silentAfterMinutes: Must be at least 15'],
      [{ guards: { minimumDevices: 0 } }, 'guards.minimumDevices: Must be at least 1'],
      [{ guards: { failed: 1 } }, 'guards.failed: Unrecognized key'],
      [{ startAt: 'soon' }, 'startAt: Must be an RFC 3339 time'],
      [{ startAt: '2999-01-01T00:00:00Z' }, 'startAt: Must be at most 90 days ahead'],
      [{ onTrip: 'panic' }, 'onTrip: Must be one of hold, pause'],
    ] as const) {
      expectError(await put(tenant, parts), 400, error);
    }
  });

  it('a release is read with its health, with a plan or without, and listed with its plan (§27.4, §27.7)', async () => {
    const tenant = await planless();
    await tenant.publish('1.1.0');
    const health = (more: Record<string, string> = {}) =>
      tenant.manage('GET', addressOf(tenant, 'releases/health', more));
    const judged = (limit: number | null) => ({
      health: { offered: 0, verdict: 'too early', rates: { failed: { limit, tripped: false } } },
    });
    const unplanned = await health({ knownForMinutes: '60' });
    expect(unplanned).toMatchObject({ status: 200, body: judged(null) });
    expect((await health({ knownForMinutes: 'x' })).status).toBe(400);
    expect((await health({ version: '3.0.0' })).status).toBe(404);
    const shown = { status: 200, body: { plan: null, ...judged(null) } };
    expect(await readByPerson(tenant)).toMatchObject(shown);
    const gone = addressOf(tenant, PLAN, { version: '9.0.0' });
    expectError(await admin(node, 'GET', gone), 404, 'Unknown release');
    const guards = { failedPercent: 2.5 };
    await admin(node, 'POST', PLAN, { ...nameOf(tenant), steps: STEPS, guards });
    expect((await health()).body).toMatchObject(judged(2.5));
    const plan = { ...nameOf(tenant), createdBy: 'admin-token', guards };
    expect((await readByPerson(tenant)).body).toMatchObject({ plan, ...judged(2.5) });
    await steer(tenant, 'hold');
    const list = () => admin(node, 'GET', `releases?app=${tenant.app}&channel=stable`);
    expect((await list()).body).toMatchObject({
      releases: [
        { version: '1.1.0', plan: null },
        { version: '1.0.0', plan: { status: 'held', verdict: 'too early', next: null } },
      ],
    });
    await steer(tenant, 'cancel');
    expect((await list()).body).toMatchObject({ releases: [{}, { plan: null }] });
  });

  it('publishers make and steer plans at the console, with a reason (§27.3)', async () => {
    const tenant = await planless();
    const publisher = await member(node, tenant.org, 'publisher');
    for (const [method, parts, status] of [
      ['POST', { steps: STEPS, reason: 'as agreed' }, 'running'],
      ['PATCH', { action: 'hold', reason: 'odd' }, 'held'],
    ] as const) {
      const body = { ...nameOf(tenant), ...parts };
      const wrong = { ...body, more: 1 };
      expectError(await admin(node, method, PLAN, wrong), 400, 'more: Unrecognized key');
      const done = await publisher.call(method, PLAN, body);
      expect([done.status, done.body]).toMatchObject([200, { plan: { status } }]);
    }
    const resumed = { ...nameOf(tenant), action: 'advance' };
    const refused = await publisher.call('PATCH', PLAN, resumed);
    expectError(refused, 409, 'The plan is held: resume it first');
    const entries = await tenant.audit('action=plan');
    expect(entries).toMatchObject([
      { action: 'plan.hold', reason: 'odd', actor: `account:${publisher.email}` },
      { action: 'plan.create', reason: 'as agreed', actor: `account:${publisher.email}` },
    ]);
  });

  const fail = (tenant: Tenant, body: unknown, headers: Record<string, string>) =>
    send(node, 'POST', `/u/${tenant.app}/stable/linux/x86_64/0.9.0/failure`, { body, headers });

  it('a failure of a device is 204, and of one client address three count, with their reasons (§27.9)', async () => {
    const tenant = await createTenant(node);
    const ids = Array.from({ length: 6 }, (_, index) => `device ${index}`);
    const devices = ids.map((deviceId) => ({ deviceId, version: '0.9.0', platform: 'linux' }));
    expect((await tenant.report(devices)).status).toBe(200);
    await tenant.publish('1.0.0');
    const plan = { steps: [{ rollout: 100, holdMinutes: 60 }], guards: { knownForMinutes: 0 } };
    expect((await put(tenant, plan)).status).toBe(200);
    for (const device of ids) {
      expect((await tenant.check('0.9.0', { device })).status).toBe(200);
    }
    await Promise.all(
      ids.map(async (device) => {
        const headers = { 'x-service-device': device, 'x-forwarded-for': '203.0.113.7' };
        const told = await fail(tenant, { version: 'v1.0', reason: 'disk full' }, headers);
        expect(told.status).toBe(204);
      }),
    );
    await eventually('all is on record', async () => {
      const { health } = (await readByPerson(tenant)).body as {
        health: { offered: number; failed: number };
      };
      return health.offered === 6 && health.failed === 3;
    });
    const trouble = await admin(node, 'GET', addressOf(tenant, 'releases/trouble'));
    expect(trouble.body).toMatchObject({
      ...{ signals: { failed: { devices: 3 } }, reasons: [{ reason: 'disk full', devices: 3 }] },
    });
  });

  it('a failure is refused without a device, with a bad body, or at an unknown place; reports have some too (§27.9)', async () => {
    const tenant = await createTenant(node);
    const of = { 'x-service-device': 'a' };
    const version = '1.0.0';
    expectError(await fail(tenant, { version }, {}), 400, 'device: Required');
    expectError(await fail(tenant, { version: 'one' }, of), 400, 'version: Invalid version');
    expectError(await fail(tenant, { version, why: 1 }, of), 400, 'why: Unrecognized key');
    expect((await fail(tenant, { version, reason: 'x'.repeat(5000) }, of)).status).toBe(413);
    expect((await fail(tenant.with({ app: 'nobody' }), { version }, of)).status).toBe(404);
    expect((await fail(tenant, { version: '7.0.0' }, of)).status).toBe(204);
    const device = { deviceId: 'a', version: '0.9.0', platform: 'linux' };
    const failed = { version, reason: 'disk full' };
    expect((await tenant.report([{ ...device, failed }])).status).toBe(200);
    const bad = { ...device, failed: { version: 'one' } };
    const error = 'devices.0.failed.version: Invalid version';
    expectError(await tenant.report([bad]), 400, error);
  });
});
