// Tests approvals over HTTP, with keys and with people: which calls wait, who may decide, and what an
// approval carries out (docs/contract.md 33). Which changes widen exposure is tested in
// test/domain/release/widening.test.ts, requests that end by themselves in
// test/store/ledger/approval-contract.ts, and decisions at the same time in
// test/faults/approval-races.test.ts.

import { expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import { member, type Person } from '../support/person.ts';
import { auditOf, type Json } from '../support/published.ts';
import { serviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  admin,
  check,
  control,
  createTenant,
  manage,
  publish,
  report,
  send,
  type Tenant,
} from '../support/tenant.ts';

const PLAN = { steps: [{ rollout: 10, holdMinutes: 60 }] };

serviceSuite('approvals', (node) => {
  const setChannel = (tenant: Tenant, change: Json, name = 'stable') =>
    admin(node, 'PATCH', 'channels', { app: tenant.app, name, ...change });

  async function protect(tenant: Tenant): Promise<void> {
    expect(await setChannel(tenant, { approvals: 'one' })).toMatchObject({ status: 200 });
  }

  /** A tenant with 1.0.0 at 10 % on a protected `stable`, and the person who approves. */
  async function furnish(): Promise<{ tenant: Tenant; approver: Person }> {
    const tenant = await createTenant(node);
    await publish(node, tenant, '1.0.0', { rollout: 10 });
    await protect(tenant);
    return { tenant, approver: await member(node, tenant.org, 'publisher') };
  }

  const approvalOf = ({ body }: Answer) => (body?.approval ?? {}) as Json;
  const decide = (person: Person, id: unknown, how = 'approve', body: Json = {}) =>
    person.call('POST', `approvals/${id}/${how}`, body);
  const read = (tenant: Tenant, id: unknown) => manage(node, tenant, 'GET', `approvals/${id}`);
  const releases = async (tenant: Tenant, query = '') => {
    const { body } = await manage(node, tenant, 'GET', `releases?app=${tenant.app}${query}`);
    return body?.releases as Json[];
  };

  function expectWaiting(answer: Answer, about: Json = {}): string {
    expect(answer.status, answer.text).toBe(202);
    const approval = approvalOf(answer);
    expect(approval).toMatchObject({ status: 'pending', decidedBy: null, result: null, ...about });
    return String(approval.id);
  }

  function expectStatus(answer: Answer, status: number): void {
    expect(answer.status, answer.text).toBe(status);
  }

  it('a publish waits, does nothing yet, and is carried out by another member (§33.1)', async () => {
    const { tenant, approver } = await furnish();
    const asked = await publish(node, tenant, '2.0.0', { notes: 'New.', rollout: 50 });
    const id = expectWaiting(asked, {
      request: {
        ...{ operation: 'publishRelease', app: tenant.app, channel: 'stable', version: '2.0.0' },
        body: expect.objectContaining({ notes: 'New.', rollout: 50 }),
      },
      requestedBy: `key:${tenant.keyId} (ci)`,
      reason: null,
      effect: expect.objectContaining({ devices: 0, examples: { gain: [], lose: [] } }),
      url: expect.stringMatching(/^https?:.*\/console\/approvals\/apv_/),
    });
    expect(await releases(tenant, '&version=2.0.0')).toEqual([]);
    expect(await read(tenant, id)).toMatchObject({ status: 200, body: asked.body });
    const decided = await decide(approver, id, 'approve', { reason: 'looks good' });
    expect(decided, decided.text).toMatchObject({ status: 200 });
    expect(approvalOf(decided)).toMatchObject({
      ...{ id, status: 'approved', decidedBy: `account:${approver.email}` },
      decidedAt: expect.any(String),
      result: { release: { version: '2.0.0', rolloutPct: 50, status: 'published' } },
    });
    expect(await releases(tenant, '&version=2.0.0')).toMatchObject([{ rolloutPct: 50 }]);
    const entries = await auditOf(node, tenant, 'limit=3');
    expect(entries.map(({ action, actor, reason }) => [action, actor, reason])).toEqual([
      ['approval.approve', `account:${approver.email}`, 'looks good'],
      ['release.publish', `account:${approver.email}`, null],
      ['approval.request', `key:${tenant.keyId} (ci)`, null],
    ]);
    expectError(await decide(approver, id), 409, 'This request is approved');
  });

  it('what widens waits for a key and for a person alike (§33.2)', async () => {
    const { tenant, approver } = await furnish();
    const { app } = tenant;
    await publish(node, tenant, '0.9.0', { status: 'paused', rollout: 0 });
    await publish(node, tenant, '3.0.0', { channel: 'beta' });
    const named = { app, channel: 'stable', version: '1.0.0' };
    const artifacts: unknown[] = [];
    const calls: [method: string, path: string, body: Json][] = [
      ['POST', 'releases', { app, channel: 'stable', version: '2.0.0', artifacts }],
      ['POST', 'releases', { ...named, version: '2.1.0', artifacts, plan: PLAN }],
      ['POST', 'releases/promote', { app, version: '3.0.0', from: 'beta', to: 'stable' }],
      ['PATCH', 'releases', { ...named, rollout: 11 }],
      ['PATCH', 'releases', { ...named, version: '0.9.0', status: 'published' }],
      ['PATCH', 'releases', { ...named, rollout: 20, status: 'paused' }],
    ];
    for (const [method, path, body] of calls) {
      const by = `${method} ${path} ${JSON.stringify(body)}`;
      expect((await manage(node, tenant, method, path, body)).status, by).toBe(202);
      expect((await approver.call(method, path, body)).status, by).toBe(202);
    }
    expect((await manage(node, tenant, 'PUT', 'releases/plan', { ...named, ...PLAN })).status).toBe(
      202,
    );
    const listed = await manage(node, tenant, 'GET', `approvals?app=${app}&status=pending`);
    expect(listed.body?.approvals).toHaveLength(2 * calls.length + 1);
    const untouched = await releases(tenant, '&channel=stable');
    expect(
      untouched.map(({ version, rolloutPct, status }) => [version, rolloutPct, status]),
    ).toEqual([
      ['0.9.0', 0, 'paused'],
      ['1.0.0', 10, 'published'],
    ]);
  });

  it('what narrows or stops never waits, and neither do other channels (§33.3)', async () => {
    const { tenant } = await furnish();
    await publish(node, tenant, '2.0.0', { status: 'paused' });
    expect(await control(node, tenant, '2.0.0', { rollout: 5 })).toMatchObject({ status: 200 });
    const labels = (tier: string[]) => ({ matchLabels: { tier }, matchExpressions: [] });
    const targets = labels(['a', 'b']);
    expect((await control(node, tenant, '2.0.0', { targets })).status).toBe(200);
    expect((await control(node, tenant, '2.0.0', { targets: labels(['a']) })).status).toBe(200);
    expectWaiting(await control(node, tenant, '2.0.0', { targets: labels(['a', 'c']) }));
    expectWaiting(await control(node, tenant, '2.0.0', { targets: null }));
    expect((await publish(node, tenant, '2.1.0', { rollout: 0 })).status).toBe(201);
    expect((await publish(node, tenant, '2.0.0', { channel: 'beta' })).status).toBe(201);
    for (const status of ['paused', 'deprecated', 'rolled_back']) {
      expect((await control(node, tenant, '1.0.0', { status })).status, status).toBe(200);
    }
    const withdrawn = { app: tenant.app, channel: 'stable', version: '2.0.0' };
    expect((await manage(node, tenant, 'DELETE', 'releases', withdrawn)).status).toBe(200);
    const stopped = await manage(node, tenant, 'POST', 'stop', { app: tenant.app });
    expect(stopped.status).toBe(200);
  });

  it('the order of refusal stands before a request (§33.1)', async () => {
    const { tenant } = await furnish();
    expectStatus(await publish(node, tenant, '1.0.0'), 409);
    expectStatus(await publish(node, tenant, 'x'), 400);
    expectError(await control(node, tenant, '9.9.9', { rollout: 50 }), 404, 'Unknown release');
    await control(node, tenant, '1.0.0', { status: 'rolled_back' });
    expectStatus(await control(node, tenant, '1.0.0', { status: 'published' }), 409);
    const limits = { org: tenant.org, name: 'reader', may: ['read'] };
    const made = await admin(node, 'POST', 'keys', limits);
    const reader = { ...tenant, secret: String(made.body?.secret) };
    expectStatus(await publish(node, reader, '2.0.0'), 403);
    const { body } = await manage(node, tenant, 'GET', 'approvals');
    expect(body).toEqual({ approvals: [], next: null });
  });

  it('a plan, its resumption and its advance wait; hold and cancel do not (§33.2)', async () => {
    const { tenant, approver } = await furnish();
    const named = { app: tenant.app, channel: 'stable', version: '1.0.0' };
    const plan = {
      ...named,
      steps: [
        { rollout: 10, holdMinutes: 60 },
        { rollout: 60, holdMinutes: 9 },
      ],
    };
    const steer = (action: string) =>
      manage(node, tenant, 'PATCH', 'releases/plan', { ...named, action });
    const id = expectWaiting(await manage(node, tenant, 'PUT', 'releases/plan', plan));
    expectError(await steer('hold'), 404, 'No plan');
    const made = await decide(approver, id);
    expect(approvalOf(made)).toMatchObject({
      status: 'approved',
      result: { plan: { status: 'running' } },
    });
    const advance = expectWaiting(await steer('advance'));
    expect(await steer('hold')).toMatchObject({ status: 200 });
    expectError(await decide(approver, advance), 409, 'The plan is held: resume it first');
    expect(approvalOf(await read(tenant, advance))).toMatchObject({
      ...{ status: 'failed', decidedBy: `account:${approver.email}` },
      result: { error: 'The plan is held: resume it first' },
    });
    const resumption = expectWaiting(await steer('resume'));
    expect(approvalOf(await decide(approver, resumption))).toMatchObject({ status: 'approved' });
    expect(await steer('cancel')).toMatchObject({ status: 200 });
  });

  it('the end of a stop waits, and publishes again once it is approved (§33.2)', async () => {
    const { tenant, approver } = await furnish();
    const stopped = await manage(node, tenant, 'POST', 'stop', { app: tenant.app });
    const { id: stop } = (stopped.body?.stop ?? {}) as Json;
    const id = expectWaiting(await manage(node, tenant, 'POST', 'resume', { stop }));
    expectWaiting(await approver.call('POST', 'resume', { app: tenant.app, stop }));
    expect(approvalOf(await decide(approver, id))).toMatchObject({
      status: 'approved',
      result: { released: [{ channel: 'stable', version: '1.0.0' }], changed: [] },
    });
    expect(await releases(tenant)).toMatchObject([{ status: 'published' }]);
  });

  it('a call of the operator waits like any other, and its dry run says so (§33.4, §33.9)', async () => {
    const { tenant, approver } = await furnish();
    const release = {
      ...{ app: tenant.app, channel: 'stable', version: '2.0.0', artifacts: [] },
    };
    const tried = await admin(node, 'POST', 'releases/rehearse', release);
    expect(tried.body?.findings).toContainEqual(
      expect.objectContaining({ path: 'channel', severity: 'warning' }),
    );
    const asked = await admin(node, 'POST', 'releases', release);
    const id = expectWaiting(asked, { requestedBy: 'admin-token' });
    expect(await releases(tenant, '&version=2.0.0')).toEqual([]);
    expectStatus(await decide(approver, id), 200);
    expect(await releases(tenant, '&version=2.0.0')).toHaveLength(1);
  });

  it('settings that widen wait for people, not for the operator (§33.4)', async () => {
    const { tenant, approver } = await furnish();
    const owner = await member(node, tenant.org, 'owner');
    const base = { defaultRollout: 50, requireSignature: true };
    expect((await setChannel(tenant, base)).status).toBe(200);
    const set = (change: Json) =>
      owner.call('PATCH', 'channels', { app: tenant.app, name: 'stable', ...change });
    const wider = [
      { defaultRollout: 51 },
      { requireSignature: false },
      { follows: 'beta' },
      { approvals: 'none' },
      { approvals: 'none', defaultRollout: 10 },
    ];
    for (const change of wider) {
      expect((await set(change)).status, JSON.stringify(change)).toBe(202);
    }
    for (const change of [
      { defaultRollout: 49 },
      { approvalDays: 3 },
      { updateMode: 'recommended' },
    ]) {
      expect((await set(change)).status, JSON.stringify(change)).toBe(200);
    }
    const id = expectWaiting(await set({ approvals: 'none' }), {
      request: expect.objectContaining({ operation: 'updateChannel', version: null }),
    });
    expectError(await decide(owner, id), 403, 'You asked for this: another member has to decide');
    expect(approvalOf(await decide(approver, id))).toMatchObject({
      result: { name: 'stable', approvals: 'none', approvalDays: 3 },
    });
    await protect(tenant);
    await setChannel(tenant, { approvals: 'one' }, 'beta');
    expect((await set({ follows: 'beta' })).status).toBe(200);
    expect((await setChannel(tenant, { approvals: 'none', defaultRollout: 100 })).status).toBe(200);
  });

  it('a follow waits where it brings something, though the followed channel asks as well (§33.11)', async () => {
    const { tenant, approver } = await furnish();
    const owner = await member(node, tenant.org, 'owner');
    const set = (change: Json, name = 'stable') =>
      owner.call('PATCH', 'channels', { app: tenant.app, name, ...change });
    await publish(node, tenant, '66.0.0', { channel: 'beta' });
    expectStatus(await set({ approvals: 'one' }, 'beta'), 200);
    const id = expectWaiting(await set({ follows: 'beta' }));
    expect((await check(node, tenant, '0.1.0')).body?.version).not.toBe('66.0.0');
    expect(approvalOf(await decide(approver, id))).toMatchObject({ status: 'approved' });
    expect((await check(node, tenant, '0.1.0')).body).toMatchObject({ version: '66.0.0' });
    // 1.0.0 takes over then, which devices in its cohort were not offered.
    expectWaiting(await set({ follows: null }));
    expectStatus(await control(node, tenant, '1.0.0', { status: 'paused' }), 200);
    expectStatus(await set({ follows: null }), 200);
  });

  it('what a follow would bring later waits as well: planned, or behind a release of its own (§33.11)', async () => {
    const { tenant } = await furnish();
    const owner = await member(node, tenant.org, 'owner');
    const set = (change: Json, name = 'stable') =>
      owner.call('PATCH', 'channels', { app: tenant.app, name, ...change });
    for (const name of ['planned', 'hidden']) {
      expectStatus(await owner.call('POST', 'channels', { app: tenant.app, name }), 201);
    }
    const startAt = new Date(Date.now() + 3_600_000).toISOString();
    const plan = { ...PLAN, startAt };
    expectStatus(await publish(node, tenant, '66.0.0', { channel: 'planned', plan }), 201);
    expectStatus(await publish(node, tenant, '77.0.0', { channel: 'hidden' }), 201);
    expectStatus(await publish(node, tenant, '77.0.0', { status: 'paused' }), 201);
    for (const name of ['planned', 'hidden']) {
      expectStatus(await set({ approvals: 'one' }, name), 200);
      expectWaiting(await set({ follows: name }));
    }
  });

  it('settings that require an update wait; archiving and restoring the app do not (§33.11)', async () => {
    const { tenant } = await furnish();
    const owner = await member(node, tenant.org, 'owner');
    const set = (change: Json) =>
      owner.call('PATCH', 'channels', { app: tenant.app, name: 'stable', ...change });
    expectStatus(await setChannel(tenant, { minimumSupportedVersion: '0.5.0' }), 200);
    expectWaiting(await set({ minimumSupportedVersion: '0.6.0' }));
    expectWaiting(await set({ minimumSupportedVersion: '0.6.0', defaultRollout: 1 }));
    expectStatus(await set({ minimumSupportedVersion: '0.5' }), 200);
    expectStatus(await set({ minimumSupportedVersion: '0.4.0' }), 200);
    expectStatus(await set({ minimumSupportedVersion: null }), 200);
    expectWaiting(await set({ minimumSupportedVersion: '0.4.0' }));
    expectStatus(await set({ updateMode: 'recommended' }), 200);
    for (const archived of [true, false]) {
      expectStatus(await owner.call('PATCH', 'apps', { app: tenant.app, archived }), 200);
    }
  });

  it('a channel beside an open door is a finding that names it, in every answer to its settings (§33.12)', async () => {
    const tenant = await createTenant(node);
    const owner = await member(node, tenant.org, 'owner');
    const approver = await member(node, tenant.org, 'publisher');
    const set = (change: Json, name = 'stable') =>
      owner.call('PATCH', 'channels', { app: tenant.app, name, ...change });
    const message =
      'beta asks for no approvals: what one person publishes there reaches the devices of stable';
    const open = { path: 'follows', severity: 'warning', message };
    const followed = await set({ follows: 'beta' });
    expect([followed.status, followed.body?.findings]).toEqual([200, undefined]);
    const turnedOn = await set({ approvals: 'one' });
    expect([turnedOn.status, turnedOn.body?.findings]).toEqual([200, [open]]);
    expect((await set({ approvalDays: 3 })).body?.findings).toEqual([open]);
    expect((await set({ approvalDays: 3 })).body?.findings).toEqual([open]);
    expect((await set({ approvals: 'one' }, 'beta')).body?.findings).toBeUndefined();
    expect((await set({ approvalDays: 4 })).body?.findings).toBeUndefined();
    const opened = await setChannel(tenant, { approvals: 'none' }, 'beta');
    expect(opened.body?.findings).toEqual([
      {
        ...{ path: 'approvals', severity: 'warning' },
        message:
          'stable asks for approvals and follows beta: what one person publishes here reaches its devices',
      },
    ]);
    expectStatus(await set({ follows: null }), 200);
    const waits = await set({ follows: 'beta' });
    const id = expectWaiting(waits);
    expect(waits.body?.findings).toEqual([open]);
    expect(approvalOf(await decide(approver, id)).result).toMatchObject({ findings: [open] });
  });

  it('who asked, who made the key, a viewer, a stranger and the operator cannot decide (§33.5)', async () => {
    const { tenant, approver } = await furnish();
    const [owner, viewer] = [
      await member(node, tenant.org, 'owner'),
      await member(node, tenant.org, 'viewer'),
    ];
    const made = await owner.call('POST', 'keys', { org: tenant.org, name: 'by-owner' });
    const key = { ...tenant, secret: String(made.body?.secret) };
    const byKey = expectWaiting(await control(node, key, '1.0.0', { rollout: 50 }));
    const body = {
      app: tenant.app,
      channel: 'stable',
      version: '1.0.0',
      rollout: 60,
      reason: 'calm',
    };
    const byPerson = expectWaiting(await owner.call('PATCH', 'releases', body), { reason: 'calm' });
    const other = await createTenant(node);
    const stranger = await member(node, other.org, 'owner');
    for (const how of ['approve', 'decline']) {
      const own = 'You made the key that asked for this: another member has to decide';
      expectError(await decide(owner, byKey, how), 403, own);
      expectError(
        await decide(owner, byPerson, how),
        403,
        'You asked for this: another member has to decide',
      );
      expectError(await decide(viewer, byKey, how), 403, 'Your role may not do this');
      expectError(await decide(stranger, byKey, how), 404, 'Unknown approval');
      expectStatus(await admin(node, 'POST', `approvals/${byKey}/${how}`, {}), 403);
      expectStatus(await decide(approver, byKey, how, { reason: 'x'.repeat(501) }), 400);
      expectError(await decide(approver, byKey, how, { more: 1 }), 400, 'more: Unrecognized key');
      expectError(await decide(approver, 'apv_0', how), 404, 'Unknown approval');
      const signedOut = await send(node, 'POST', `/console/api/approvals/${byKey}/${how}`, {
        body: {},
      });
      expect(signedOut.status).toBe(401);
    }
    expect(approvalOf(await read(tenant, byKey))).toMatchObject({ status: 'pending' });
    const declined = await decide(approver, byKey, 'decline', { reason: 'not today' });
    expect(approvalOf(declined)).toMatchObject({
      ...{ status: 'declined', result: { reason: 'not today' } },
      decidedBy: `account:${approver.email}`,
    });
    expectError(await decide(approver, byKey), 409, 'This request is declined');
  });

  it('one that something has changed under fails, with the words (§33.6)', async () => {
    const { tenant, approver } = await furnish();
    const id = expectWaiting(await control(node, tenant, '1.0.0', { rollout: 50 }));
    await control(node, tenant, '1.0.0', { status: 'paused' });
    const words = 'stable 1.0.0 has changed since this was asked for';
    expectError(await decide(approver, id), 409, words);
    expect(approvalOf(await read(tenant, id))).toMatchObject({
      ...{ status: 'failed', result: { error: words } },
    });
    expect(await releases(tenant)).toMatchObject([{ status: 'paused', rolloutPct: 10 }]);
    const [entry] = await auditOf(node, tenant, 'limit=1');
    expect(entry).toMatchObject({ action: 'approval.fail', after: { why: words } });
    await publish(node, tenant, '3.0.0', { channel: 'beta' });
    const promotion = { app: tenant.app, version: '3.0.0', from: 'beta', to: 'stable' };
    const promoting = expectWaiting(
      await manage(node, tenant, 'POST', 'releases/promote', promotion),
    );
    const beta = { app: tenant.app, channel: 'beta', version: '3.0.0' };
    await manage(node, tenant, 'PATCH', 'releases', { ...beta, status: 'paused' });
    expectStatus(await decide(approver, promoting), 409);
    await manage(node, tenant, 'PATCH', 'releases', { ...beta, status: 'published' });
    const again = expectWaiting(await manage(node, tenant, 'POST', 'releases/promote', promotion));
    expect(approvalOf(await decide(approver, again))).toMatchObject({ status: 'approved' });
  });

  it('without a roll-out of its own it gets the default of when it was asked for (§33.6)', async () => {
    const { tenant, approver } = await furnish();
    await publish(node, tenant, '3.0.0', { channel: 'beta' });
    expectStatus(await setChannel(tenant, { defaultRollout: 20 }), 200);
    const { app } = tenant;
    const [publishing, promoting] = [
      expectWaiting(await publish(node, tenant, '2.0.0', { rollout: undefined })),
      expectWaiting(
        await manage(node, tenant, 'POST', 'releases/promote', {
          ...{ app, version: '3.0.0', from: 'beta', to: 'stable' },
        }),
      ),
    ];
    expectStatus(await setChannel(tenant, { defaultRollout: 100 }), 200);
    for (const id of [publishing, promoting]) expectStatus(await decide(approver, id), 200);
    const served = await releases(tenant, '&channel=stable');
    expect(served.map(({ rolloutPct }) => rolloutPct)).toEqual([20, 20, 10]);
  });

  it('a revoked key and an author who left end their requests at once (§33.7)', async () => {
    const { tenant, approver } = await furnish();
    const leaver = await member(node, tenant.org, 'publisher');
    const body = { app: tenant.app, channel: 'stable', version: '1.0.0', rollout: 60 };
    const byPerson = expectWaiting(await leaver.call('PATCH', 'releases', body));
    await admin(node, 'DELETE', 'members', { org: tenant.org, account: leaver.accountId });
    const key = await admin(node, 'POST', 'keys', { org: tenant.org, name: 'short' });
    const short = { ...tenant, secret: String(key.body?.secret) };
    const byKey = expectWaiting(await control(node, short, '1.0.0', { rollout: 70 }));
    await admin(node, 'POST', `keys/${key.body?.id}/revoke`, {});
    for (const id of [byPerson, byKey]) {
      expect(approvalOf(await read(tenant, id))).toMatchObject({
        status: 'expired',
        decidedBy: null,
      });
      expectError(await decide(approver, id), 409, 'This request has expired');
    }
    const entries = await auditOf(node, tenant, 'action=approval.expire');
    expect(entries).toHaveLength(2);
  });

  it('an idempotency key answers the same approval with its present status (§33.8)', async () => {
    const { tenant, approver } = await furnish();
    const body = { app: tenant.app, channel: 'stable', version: '2.0.0' };
    const ask = (sent: Json = body) =>
      send(node, 'POST', '/api/v1/releases', {
        body: sent,
        headers: { authorization: `Bearer ${tenant.secret}`, 'Idempotency-Key': 'once' },
      });
    const first = await ask();
    const id = expectWaiting(first);
    const second = await ask();
    expect(second.headers.get('Idempotent-Replayed')).toBe('true');
    expect([second.status, second.body]).toEqual([202, first.body]);
    expectStatus(await ask({ ...body, version: '2.0.1' }), 409);
    await decide(approver, id);
    const third = await ask();
    expect([third.status, approvalOf(third)]).toMatchObject([202, { id, status: 'approved' }]);
    expect(await releases(tenant, '&version=2.0.0')).toHaveLength(1);
  });

  it('a dry run answers as before, and says that it will wait (§33.9)', async () => {
    const { tenant } = await furnish();
    const body = { app: tenant.app, channel: 'stable', version: '2.0.0', artifacts: [] };
    const findingsOf = ({ body }: Answer) =>
      ((body?.findings ?? []) as Json[]).map(({ message }) => message);
    const asks = 'The channel asks for approvals: another member has to approve this';
    const dry = await manage(node, tenant, 'POST', 'releases?dryRun=true', body);
    expect([dry.status, findingsOf(dry)]).toEqual([200, expect.arrayContaining([asks])]);
    const paused = { ...body, status: 'paused' };
    const narrow = await manage(node, tenant, 'POST', 'releases?dryRun=true', paused);
    expect(findingsOf(narrow)).not.toContain(asks);
    const named = { app: tenant.app, channel: 'stable', version: '1.0.0' };
    const raise = await manage(node, tenant, 'PATCH', 'releases?dryRun=true', {
      ...named,
      rollout: 50,
    });
    expect(findingsOf(raise)).toContain(asks);
    const plan = await manage(node, tenant, 'PUT', 'releases/plan?dryRun=true', {
      ...named,
      ...PLAN,
    });
    expect(findingsOf(plan)).toContain(asks);
    expect((await manage(node, tenant, 'GET', 'approvals')).body?.approvals).toEqual([]);
  });

  it('devices get what an approval publishes as soon as it is answered, and its effect is measured (§33.1)', async () => {
    const { tenant, approver } = await furnish();
    // On 1.0.0, so that it has no offer whether or not it is among the 10 % of that release.
    const device = { deviceId: 'one', version: '1.0.0', platform: 'linux', arch: 'x86_64' };
    await report(node, tenant, [device]);
    const asked = await publish(node, tenant, '2.0.0');
    const id = expectWaiting(asked, { effect: expect.objectContaining({ devices: 1, gain: 1 }) });
    expect(
      (await check(node, tenant, '0.1.0', { device: crypto.randomUUID() })).body?.version,
    ).not.toBe('2.0.0');
    await decide(approver, id);
    expect((await check(node, tenant, '0.1.0')).body).toMatchObject({ version: '2.0.0' });
  });

  it('lists are those of the organization, and of what a key may name (§33.10)', async () => {
    const { tenant, approver } = await furnish();
    const [one, two] = [await createTenant(node), await furnish()];
    const id = expectWaiting(await control(node, tenant, '1.0.0', { rollout: 50 }));
    expectWaiting(await control(node, two.tenant, '1.0.0', { rollout: 50 }));
    expectError(await read(one, id), 404, 'Unknown approval');
    expectError(await read(tenant, 'apv_0'), 404, 'Unknown approval');
    expectError(await manage(node, one, 'GET', `approvals?app=${tenant.app}`), 404, 'Unknown app');
    expectStatus(await manage(node, tenant, 'GET', 'approvals?status=open'), 400);
    const { body } = await manage(node, tenant, 'GET', 'approvals');
    expect(body).toMatchObject({ approvals: [{ id }], next: null });
    const listed = await approver.call('GET', `approvals?org=${tenant.org}&status=pending`);
    expect(listed.body).toMatchObject({ approvals: [{ id }] });
    expect((await approver.call('GET', `approvals/${id}`)).body).toMatchObject({
      approval: { id },
    });
    expectStatus(await approver.call('GET', `approvals?org=${two.tenant.org}`), 404);
    const may = { org: tenant.org, name: 'blind', may: ['publish'] };
    const blind = await admin(node, 'POST', 'keys', may);
    expectStatus(await read({ ...tenant, secret: String(blind.body?.secret) }, id), 403);
    for (let rollout = 11; rollout <= 30; rollout++) {
      await control(node, tenant, '1.0.0', { rollout });
    }
    const page = await manage(node, tenant, 'GET', 'approvals');
    expect(page.body?.approvals).toHaveLength(20);
    const rest = await manage(node, tenant, 'GET', `approvals?before=${page.body?.next}`);
    expect(rest.body).toMatchObject({ approvals: [{ id }], next: null });
  });

  it('settings that cannot be are refused with their path (§33.4)', async () => {
    const tenant = await createTenant(node);
    for (const approvals of ['two', true, null, 1]) {
      expectStatus(await setChannel(tenant, { approvals }), 400);
    }
    for (const approvalDays of [0, 31, 1.5, '7', null]) {
      expectStatus(await setChannel(tenant, { approvalDays }), 400);
    }
    const { body } = await manage(node, tenant, 'GET', `channels?app=${tenant.app}`);
    expect(body?.channels).toMatchObject([
      { approvals: 'none', approvalDays: 7 },
      { approvals: 'none', approvalDays: 7 },
    ]);
  });
});
