// Tests approvals over HTTP, with keys and with people: that each call waits and is carried out, who may
// decide, and what is answered (docs/contract.md 33). Which changes widen exposure is tested in
// test/domain/release/widening.test.ts and test/domain/decision/serving-comparison.test.ts, which of the
// settings do by what is published, requests that end by themselves and decisions at the same time in
// test/store/ledger/approval-contract.ts.

import { expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import { member, type Person } from '../support/person.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { type Answer, admin, createTenant, type Json, type Tenant } from '../support/tenant.ts';

const STEPS = [10, 60].map((rollout) => ({ rollout, holdMinutes: 60 }));

serviceSuite('approvals', (node) => {
  const setChannel = (tenant: Tenant, change: Json, name = 'stable') =>
    admin(node, 'PATCH', 'channels', { app: tenant.app, name, ...change });

  /** A tenant with 1.0.0 at 10 % on a protected `stable`, and the person who approves. */
  async function furnish(): Promise<{ tenant: Tenant; approver: Person }> {
    const tenant = await createTenant(node, ['1.0.0', { rollout: 10 }]);
    expectStatus(await setChannel(tenant, { approvals: 'one' }), 200);
    return { tenant, approver: await member(node, tenant.org, 'publisher') };
  }

  const approvalOf = ({ body }: Answer) => (body?.approval ?? {}) as Json;
  const decide = (person: Person, id: unknown, how = 'approve', body: Json = {}) =>
    person.call('POST', `approvals/${id}/${how}`, body);
  const read = (tenant: Tenant, id: unknown) => tenant.manage('GET', `approvals/${id}`);
  const listed = async (tenant: Tenant) =>
    (await tenant.manage('GET', 'approvals')).body?.approvals;
  const releases = (tenant: Tenant, query = 'channel=stable') =>
    tenant.releases(`app=${tenant.app}&${query}`);

  function expectStatus(answer: Answer, status: number): void {
    expect(answer.status, answer.text).toBe(status);
  }

  function expectWaiting(answer: Answer, about: Json = {}): string {
    expectStatus(answer, 202);
    const approval = approvalOf(answer);
    expect(approval).toMatchObject({ status: 'pending', decidedBy: null, result: null, ...about });
    return String(approval.id);
  }

  async function expectApproved(approver: Person, asked: Answer, result: Json): Promise<void> {
    const decided = await decide(approver, expectWaiting(asked));
    expectStatus(decided, 200);
    expect(approvalOf(decided)).toMatchObject({ status: 'approved', result });
  }

  it('a publish waits, does nothing yet, and is carried out and served once another member approves (§33.1)', async () => {
    const { tenant, approver } = await furnish();
    // On 1.0.0, so that it has no offer whether or not it is among the 10 % of that release.
    const device = { deviceId: 'one', version: '1.0.0', platform: 'linux', arch: 'x86_64' };
    await tenant.report([device]);
    const asked = await tenant.publish('2.0.0', { notes: 'New.', rollout: 100 });
    const id = expectWaiting(asked, {
      request: {
        ...{ operation: 'publishRelease', app: tenant.app, channel: 'stable', version: '2.0.0' },
        body: expect.objectContaining({ notes: 'New.', rollout: 100 }),
      },
      ...{ requestedBy: `key:${tenant.keyId} (ci)`, reason: null },
      effect: expect.objectContaining({ devices: 1, gain: 1, examples: { gain: [], lose: [] } }),
      url: expect.stringMatching(/^https?:.*\/console\/approvals\/apv_/),
    });
    expect(await releases(tenant, 'version=2.0.0')).toEqual([]);
    expect(await tenant.offered('0.1.0')).not.toBe('2.0.0');
    expect(await read(tenant, id)).toMatchObject({ status: 200, body: asked.body });
    const decided = await decide(approver, id, 'approve', { reason: 'looks good' });
    expect((await tenant.check('0.1.0')).body).toMatchObject({ version: '2.0.0' });
    expect(approvalOf(decided)).toMatchObject({
      ...{ id, status: 'approved', decidedBy: `account:${approver.email}` },
      decidedAt: expect.any(String),
      result: { release: { version: '2.0.0', rolloutPct: 100, status: 'published' } },
    });
    // By its subject: tokens of edges that serve all are in the audit of every organization.
    const entries = await tenant.audit(`limit=3&subject=${tenant.app}`);
    expect(entries.map(({ action, actor, reason }) => [action, actor, reason])).toEqual([
      ['approval.approve', `account:${approver.email}`, 'looks good'],
      ['release.publish', `account:${approver.email}`, null],
      ['approval.request', `key:${tenant.keyId} (ci)`, null],
    ]);
    expectError(await decide(approver, id), 409, 'This request is approved');
  });

  it('each call that widens waits, for a key, a person and the operator, and is carried out once approved (§33.2, §33.4)', async () => {
    const { tenant, approver } = await furnish();
    const owner = await member(node, tenant.org, 'owner');
    const { app } = tenant;
    await tenant.publish('3.0.0', { channel: 'beta' });
    const named = { app, channel: 'stable', version: '1.0.0' };
    const call = (method: string, path: string, body: Json) => tenant.manage(method, path, body);
    const raise = { ...named, rollout: 11 };
    expectWaiting(await call('PATCH', 'releases', raise));
    expectWaiting(await owner.call('PATCH', 'releases', raise));
    const widerAndNarrower = { ...named, rollout: 20, status: 'paused' };
    expectWaiting(await call('PATCH', 'releases', widerAndNarrower));
    const planned = { ...named, version: '2.1.0', artifacts: [], plan: { steps: STEPS } };
    expectWaiting(await call('POST', 'releases', planned));
    const release = { ...named, version: '2.2.0', artifacts: [] };
    const byOperator = await admin(node, 'POST', 'releases', release);
    expect(approvalOf(byOperator).requestedBy).toBe('admin-token');
    await expectApproved(approver, byOperator, { release: { version: '2.2.0' } });
    const promotion = { app, version: '3.0.0', from: 'beta', to: 'stable' };
    const promoted = await call('POST', 'releases/promote', promotion);
    expect(await releases(tenant)).toMatchObject([{ version: '2.2.0' }, { rolloutPct: 10 }]);
    await expectApproved(approver, promoted, { release: { version: '3.0.0', channel: 'stable' } });

    const steer = (action: string) => call('PATCH', 'releases/plan', { ...named, action });
    const plan = await call('PUT', 'releases/plan', { ...named, steps: STEPS });
    expectError(await steer('hold'), 404, 'No plan');
    await expectApproved(approver, plan, { plan: { status: 'running' } });
    const advance = expectWaiting(await steer('advance'));
    expectStatus(await steer('hold'), 200);
    expectError(await decide(approver, advance), 409, 'The plan is held: resume it first');
    expect(approvalOf(await read(tenant, advance))).toMatchObject({
      ...{ status: 'failed', decidedBy: `account:${approver.email}` },
      result: { error: 'The plan is held: resume it first' },
    });
    await expectApproved(approver, await steer('resume'), { plan: { status: 'running' } });
    expectStatus(await steer('cancel'), 200);

    const stopped = await call('POST', 'stop', { app, channel: 'stable' });
    const stop = stopped.body?.stop as Json;
    expectWaiting(await owner.call('POST', 'resume', { app, stop: stop.id }));
    const resumed = await call('POST', 'resume', { stop: stop.id });
    await expectApproved(approver, resumed, { released: stop.releases, changed: [] });
    expect((await releases(tenant)).map(({ status }) => status)).toEqual(
      Array(3).fill('published'),
    );
  });

  it('what narrows or stops never waits, and neither do other channels and archiving (§33.3, §33.11)', async () => {
    const { tenant } = await furnish();
    const { app } = tenant;
    const owner = await member(node, tenant.org, 'owner');
    expectStatus(await tenant.publish('2.0.0', { rollout: 0 }), 201);
    expectStatus(await tenant.publish('2.1.0', { status: 'paused' }), 201);
    expectStatus(await tenant.publish('2.0.0', { channel: 'beta' }), 201);
    expectStatus(await tenant.control('1.0.0', { rollout: 5 }), 200);
    for (const status of ['paused', 'deprecated', 'rolled_back']) {
      expectStatus(await tenant.control('1.0.0', { status }), 200);
    }
    const withdrawn = { app, channel: 'stable', version: '2.1.0' };
    expectStatus(await tenant.manage('DELETE', 'releases', withdrawn), 200);
    expectStatus(await tenant.manage('POST', 'stop', { app }), 200);
    for (const archived of [true, false]) {
      expectStatus(await owner.call('PATCH', 'apps', { app, archived }), 200);
    }
    expect(await listed(tenant)).toEqual([]);
  });

  it('the order of refusal stands before a request (§33.1)', async () => {
    const { tenant } = await furnish();
    expectStatus(await tenant.publish('1.0.0'), 409);
    expectStatus(await tenant.publish('x'), 400);
    expectError(await tenant.control('9.9.9', { rollout: 50 }), 404, 'Unknown release');
    await tenant.control('1.0.0', { status: 'rolled_back' });
    expectStatus(await tenant.control('1.0.0', { status: 'published' }), 409);
    expect(await listed(tenant)).toEqual([]);
  });

  it('settings that widen wait for people, not for the operator, and tell of an open door (§33.4, §33.12)', async () => {
    const { tenant, approver } = await furnish();
    const owner = await member(node, tenant.org, 'owner');
    const set = (change: Json) =>
      owner.call('PATCH', 'channels', { app: tenant.app, name: 'stable', ...change });
    expectStatus(await admin(node, 'PATCH', 'apps', { app: tenant.app, ddiAuth: 'token' }), 200);
    expectStatus(await setChannel(tenant, { defaultRollout: 50, requireSignature: true }), 200);
    for (const change of [
      { defaultRollout: 51 },
      { requireSignature: false },
      { minimumSupportedVersion: '0.6.0' },
      { approvals: 'none', defaultRollout: 10 },
      { ddi: { pollSeconds: 60 } },
    ]) {
      expectWaiting(await set(change));
    }
    for (const change of [{ defaultRollout: 49 }, { approvalDays: 3 }, { follows: null }]) {
      const { status, body } = await set(change);
      expect([status, body?.findings]).toEqual([200, undefined]);
    }
    const message =
      'beta asks for no approvals: what one person publishes there reaches the devices of stable';
    const open = { path: 'follows', severity: 'warning', message };
    const following = await set({ follows: 'beta' });
    expect(following.body?.findings).toEqual([open]);
    await expectApproved(approver, following, { follows: 'beta', findings: [open] });
    expect((await set({ approvalDays: 4 })).body?.findings).toEqual([open]);
    const turnedOff = await set({ approvals: 'none' });
    const request = expect.objectContaining({ operation: 'updateChannel', version: null });
    const id = expectWaiting(turnedOff, { request });
    expectError(await decide(owner, id), 403, 'You asked for this: another member has to decide');
    await expectApproved(approver, turnedOff, { approvals: 'none', approvalDays: 4 });
    expectStatus(await setChannel(tenant, { approvals: 'one' }), 200);
    const byOperator = await setChannel(tenant, { approvals: 'none', defaultRollout: 100 });
    expectStatus(byOperator, 200);
    for (const wrong of [{ approvals: 'two' }, { approvalDays: 0 }, { approvalDays: 31 }]) {
      expectStatus(await setChannel(tenant, wrong), 400);
    }
  });

  it('who asked, who made the key, and the operator cannot decide (§33.5)', async () => {
    const { tenant, approver } = await furnish();
    const owner = await member(node, tenant.org, 'owner');
    const made = await owner.call('POST', 'keys', { org: tenant.org, name: 'by-owner' });
    const key = tenant.with({ secret: String(made.body?.secret) });
    const byKey = expectWaiting(await key.control('1.0.0', { rollout: 50 }));
    const named = { app: tenant.app, channel: 'stable', version: '1.0.0' };
    const call = { ...named, rollout: 60, reason: 'calm' };
    const byPerson = expectWaiting(await owner.call('PATCH', 'releases', call), { reason: 'calm' });
    const another = 'another member has to decide';
    for (const how of ['approve', 'decline']) {
      for (const [person, id, status, words] of [
        [owner, byKey, 403, `You made the key that asked for this: ${another}`],
        [owner, byPerson, 403, `You asked for this: ${another}`],
        [approver, 'apv_0', 404, 'Unknown approval'],
      ] as const) {
        expectError(await decide(person, id, how), status, words);
      }
      expectStatus(await admin(node, 'POST', `approvals/${byKey}/${how}`, {}), 403);
      expectError(await decide(approver, byKey, how, { more: 1 }), 400, 'more: Unrecognized key');
      expectStatus(await decide(approver, byKey, how, { reason: 'x'.repeat(501) }), 400);
    }
    expect(approvalOf(await read(tenant, byKey))).toMatchObject({ status: 'pending' });
    const declined = await decide(approver, byKey, 'decline', { reason: 'not today' });
    expect(approvalOf(declined)).toMatchObject({
      ...{ status: 'declined', result: { reason: 'not today' } },
      decidedBy: `account:${approver.email}`,
    });
    expectError(await decide(approver, byKey), 409, 'This request is declined');
  });

  it('one that something has changed under fails, with the words; a rollout is the default of when it was asked (§33.6)', async () => {
    const { tenant, approver } = await furnish();
    const { app } = tenant;
    const id = expectWaiting(await tenant.control('1.0.0', { rollout: 50 }));
    await tenant.control('1.0.0', { status: 'paused' });
    const words = 'stable 1.0.0 has changed since this was asked for';
    expectError(await decide(approver, id), 409, words);
    expect(approvalOf(await read(tenant, id))).toMatchObject({
      ...{ status: 'failed', result: { error: words } },
    });
    expect(await releases(tenant)).toMatchObject([{ status: 'paused', rolloutPct: 10 }]);
    const [entry] = await tenant.audit('limit=1&action=approval');
    expect(entry).toMatchObject({ action: 'approval.fail', after: { why: words } });

    await tenant.publish('3.0.0', { channel: 'beta' });
    expectStatus(await setChannel(tenant, { defaultRollout: 20 }), 200);
    const promote = () =>
      tenant.manage('POST', 'releases/promote', {
        ...{ app, version: '3.0.0', from: 'beta', to: 'stable' },
      });
    const publishing = expectWaiting(await tenant.publish('2.0.0', { rollout: undefined }));
    const promoting = expectWaiting(await promote());
    const beta = { app, channel: 'beta', version: '3.0.0' };
    await tenant.manage('PATCH', 'releases', { ...beta, status: 'paused' });
    expectStatus(await decide(approver, promoting), 409);
    await tenant.manage('PATCH', 'releases', { ...beta, status: 'published' });
    const again = expectWaiting(await promote());
    expectStatus(await setChannel(tenant, { defaultRollout: 100 }), 200);
    for (const asked of [publishing, again]) expectStatus(await decide(approver, asked), 200);
    const served = await releases(tenant);
    expect(served.map(({ rolloutPct }) => rolloutPct)).toEqual([20, 20, 10]);
  });

  it('an idempotency key answers the same approval with its present status (§33.8)', async () => {
    const { tenant, approver } = await furnish();
    const body = { app: tenant.app, channel: 'stable', version: '2.0.0' };
    const ask = (sent: Json = body) =>
      tenant.manage('POST', 'releases', sent, { 'Idempotency-Key': 'once' });
    const first = await ask();
    const id = expectWaiting(first);
    const second = await ask();
    expect(second.headers.get('Idempotent-Replayed')).toBe('true');
    expect([second.status, second.body]).toEqual([202, first.body]);
    expectStatus(await ask({ ...body, version: '2.0.1' }), 409);
    await decide(approver, id);
    const third = await ask();
    expect([third.status, approvalOf(third)]).toMatchObject([202, { id, status: 'approved' }]);
    expect(await releases(tenant, 'version=2.0.0')).toHaveLength(1);
  });

  it('a dry run answers as before, and says that it will wait (§33.9)', async () => {
    const { tenant } = await furnish();
    const named = { app: tenant.app, channel: 'stable', version: '1.0.0' };
    const release = { ...named, version: '2.0.0', artifacts: [] };
    const message = 'The channel asks for approvals: another member has to approve this';
    const asks = { path: 'channel', severity: 'warning', message };
    const findings = async (method: string, path: string, body: Json) => {
      const dry = await tenant.manage(method, `${path}?dryRun=true`, body);
      expectStatus(dry, 200);
      return dry.body?.findings;
    };
    expect(await findings('POST', 'releases', release)).toContainEqual(asks);
    expect(await findings('POST', 'releases', { ...release, status: 'paused' })).not.toContainEqual(
      asks,
    );
    expect(await findings('PATCH', 'releases', { ...named, rollout: 50 })).toContainEqual(asks);
    expect(await findings('PUT', 'releases/plan', { ...named, steps: STEPS })).toContainEqual(asks);
    const tried = await admin(node, 'POST', 'releases/rehearse', release);
    expect(tried.body?.findings).toContainEqual(asks);
    expect(await listed(tenant)).toEqual([]);
  });

  it('lists are those of the organization, in pages (§33.10)', async () => {
    const { tenant, approver } = await furnish();
    const id = expectWaiting(await tenant.control('1.0.0', { rollout: 50 }));
    expectWaiting(await (await furnish()).tenant.control('1.0.0', { rollout: 50 }));
    expectError(await read(tenant, 'apv_0'), 404, 'Unknown approval');
    expectError(await tenant.manage('GET', 'approvals?app=nobody'), 404, 'Unknown app');
    expectStatus(await tenant.manage('GET', 'approvals?status=open'), 400);
    const only = { approvals: [{ id }], next: null };
    expect((await tenant.manage('GET', 'approvals')).body).toMatchObject(only);
    const pending = await approver.call('GET', `approvals?org=${tenant.org}&status=pending`);
    expect(pending.body).toMatchObject(only);
    expect((await approver.call('GET', `approvals/${id}`)).body).toMatchObject({
      approval: { id },
    });
    const rollouts = Array.from({ length: 20 }, (_, index) => index + 11);
    await Promise.all(rollouts.map((rollout) => tenant.control('1.0.0', { rollout })));
    const page = await tenant.manage('GET', 'approvals');
    expect(page.body?.approvals).toHaveLength(20);
    const rest = await tenant.manage('GET', `approvals?before=${page.body?.next}`);
    expect(rest.body).toMatchObject(only);
  });
});
