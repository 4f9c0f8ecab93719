// Rules of approvals in the ledger port: who may decide by the ledger's clock, what ends a request, how many
// wait, what a code host brings, and decisions at the same time as what must prevent them. What waits, and
// what an approval answers, is tested over HTTP (test/service/approvals.test.ts).

import { beforeEach, expect, test } from 'vitest';
import { fail, isFailure } from '../../../src/contract/failure.ts';
import { LIMIT } from '../../../src/contract/limit.ts';
import type { Role, StoredApproval } from '../../../src/contract/resource.ts';
import type { Serving } from '../../../src/domain/release/serving-change.ts';
import type {
  Actor,
  ApprovingCall,
  ChannelChange,
  NewArtifact,
  NewRelease,
} from '../../../src/store/ledger-terms.ts';
import { sleep } from '../../support/eventually.ts';
import {
  createTenant,
  expectValue,
  OPERATOR,
  PUBLISHER,
  type TestTenant,
} from './ledger-fixture.ts';
import { actorOf, join, open } from './people-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

type Person = Extract<Actor, { kind: 'account' }>;

const FILE = { platform: 'linux', arch: 'x86_64', url: 'https://x.example/a', size: 7 };
const DAY = "interval '1 day'";
/** Rounds of a race, in which what comes first is left to chance. */
const ROUNDS = 6;

export function describeApprovals({ database, ledger }: LedgerUnderTest): void {
  let tenant: TestTenant;
  beforeEach(async () => {
    tenant = await createTenant(ledger);
    await tenant.setChannel({ approvals: 'one', approvalDays: 2 });
  });

  /** A member of the organization, with a session. */
  async function person(role: Role = 'publisher'): Promise<Person> {
    const { organizationId } = tenant;
    const account = await join(ledger, tenant, role);
    const needs = { organizationId, role: 'publisher', unknown: 'unknownApproval' } as const;
    return { ...actorOf(account, await open(ledger, account)), needs };
  }

  function publish(actor: Actor, version: string, approves?: ApprovingCall) {
    const asks = { operation: 'publishRelease', body: { version }, reason: undefined } as const;
    const mode = approves ? { approves } : { asks };
    return tenant.publish(version, {}, { actor, mode });
  }

  /** Returns the request that waits after a call. */
  function requestOf(outcome: Awaited<ReturnType<typeof publish | typeof serve>>): StoredApproval {
    if (!isFailure(outcome) || outcome.approval === undefined) throw new Error('It did not wait');
    return outcome.approval;
  }
  const ask = async (actor: Actor, version: string) => requestOf(await publish(actor, version));

  const approve = (actor: Person, { id }: StoredApproval, version: string) =>
    publish(actor, version, { id, reason: undefined });
  const present = async ({ id }: StoredApproval) =>
    expectValue(await ledger.findApproval(tenant.organizationId, id));

  test('a member who joined less than a day ago decides only in the first day of the organization (§33.5)', async () => {
    const [author, approver] = [await person(), await person()];
    const request = await ask(author, '1.0.0');
    const { organizationId } = tenant;
    await database.query(`UPDATE organizations SET created_at = now() - 2 * ${DAY} WHERE id = $1`, [
      organizationId,
    ]);
    const words = 'You joined less than 24 hours ago: another member has to decide';
    expect(await approve(approver, request, '1.0.0')).toEqual(fail('forbidden', words));
    const call = { id: request.id, reason: undefined };
    expect(await ledger.declineApproval(call, approver)).toEqual(fail('forbidden', words));
    expect(await present(request)).toMatchObject({ status: 'pending' });
    await database.query(
      `UPDATE memberships SET created_at = now() - 1.01 * ${DAY} WHERE account_id = $1`,
      [approver.accountId],
    );
    expect(expectValue(await approve(approver, request, '1.0.0')).value.version).toBe('1.0.0');
  });

  test("a request expires by the ledger's clock, and the sweep stores that with its entry (§33.7)", async () => {
    const [author, approver] = [await person(), await person()];
    const request = await ask(author, '1.0.0');
    const days = (Date.parse(request.expiresAt) - Date.parse(request.createdAt)) / 86_400_000;
    expect(days).toBeCloseTo(2, 3);
    await database.query('UPDATE approvals SET expires_at = now() WHERE id = $1', [request.id]);
    expect(await present(request)).toMatchObject({ status: 'expired', decidedAt: null });
    const expired = fail('approvalDecided', 'This request has expired');
    expect(await approve(approver, request, '1.0.0')).toEqual(expired);
    const filter = { status: 'expired' } as const;
    const { approvals } = expectValue(await ledger.listApprovals(tenant.organizationId, filter));
    expect(approvals.map(({ id }) => id)).toEqual([request.id]);
    expect(await ledger.sweepApprovals(100)).toBe(1);
    expect(await ledger.sweepApprovals(100)).toBe(0);
    expect(await present(request)).toMatchObject({
      decidedBy: null,
      decidedAt: expect.any(String),
    });
    const [entry] = await tenant.audit();
    expect(entry).toMatchObject({ actor: 'service', action: 'approval.expire' });
    await database.query(`UPDATE approvals SET decided_at = now() - 91 * ${DAY} WHERE id = $1`, [
      request.id,
    ]);
    expect(await ledger.sweepApprovals(100)).toBe(1);
    const gone = await ledger.findApproval(tenant.organizationId, request.id);
    expect(gone).toEqual(fail('unknownApproval'));
  });

  test('an author who has left or may not publish ends a request, and a key that is revoked or has expired (§33.7)', async () => {
    const [leaver, lowered, approver] = [await person(), await person(), await person()];
    const [revoked, expired] = [await tenant.key(), await tenant.key()];
    const requests: StoredApproval[] = [];
    for (const author of [leaver, lowered, revoked, expired]) {
      requests.push(await ask(author, '1.0.0'));
    }
    const { organizationId } = tenant;
    expectValue(await ledger.changeMember(organizationId, leaver.accountId, undefined, OPERATOR));
    expectValue(await ledger.revokeKey(revoked.id, OPERATOR));
    // What nobody does to the record is stored by the sweep.
    const stored = (await tenant.audit()).map(({ action }) => action);
    expect(stored.filter((action) => action === 'approval.expire')).toHaveLength(2);
    await database.query(`UPDATE memberships SET role = 'viewer' WHERE account_id = $1`, [
      lowered.accountId,
    ]);
    await database.query('UPDATE api_keys SET expires_at = now() WHERE id = $1', [expired.id]);
    for (const request of requests) {
      expect(await present(request)).toMatchObject({ status: 'expired', decidedBy: null });
      const refused = await approve(approver, request, '1.0.0');
      expect(refused).toEqual(fail('approvalDecided', 'This request has expired'));
    }
  });

  test('so many requests wait on a channel, and no more (§33.8)', async () => {
    const author = await person();
    const request = await ask(author, '1.0.0');
    await database.query(
      `INSERT INTO approvals (id, organization_id, app_id, channel_id, version, operation, body,
         asked_on, requested_by, account_id, needed_role, expires_at)
       SELECT id || n, organization_id, app_id, channel_id, version, operation, body, asked_on,
         requested_by, account_id, needed_role, expires_at
       FROM approvals, generate_series(2, $2::int) AS n WHERE id = $1`,
      [request.id, LIMIT.approvalsPendingMax],
    );
    expect(await publish(author, '2.0.0')).toEqual(fail('tooManyApprovals'));
    await database.query('UPDATE approvals SET expires_at = now() WHERE id = $1', [request.id]);
    expect(await ask(author, '2.0.0')).toMatchObject({ status: 'pending' });
  });

  /** Changes how a release is served, which waits. */
  function serve(
    actor: Actor,
    change: Partial<Serving>,
    approves?: ApprovingCall,
    canonicalVersion = '1.0.0',
  ) {
    const asks = { operation: 'controlServing', body: {}, reason: undefined } as const;
    const name = { app: tenant.app, channel: 'stable', canonicalVersion };
    const transition = (serving: Serving) => ({ ...serving, ...change });
    return ledger.controlServing({
      ...{ scope: tenant.organizationId, input: { ...name, transition }, actor },
      mode: approves ? { approves } : { asks },
    });
  }

  const PUBLISHED = { status: 'published' } as const;
  const askToServe = async (actor: Actor) => requestOf(await serve(actor, PUBLISHED));
  const approveServing = (actor: Person, { id }: StoredApproval) =>
    serve(actor, PUBLISHED, { id, reason: undefined });
  const moved = fail('approvalFailed', 'stable 1.0.0 has changed since this was asked for');

  test('another release that got the version meanwhile is not what was asked for (§33.6)', async () => {
    const [author, approver] = [await person(), await person()];
    await tenant.release('1.0.0', { status: 'paused' });
    const request = await askToServe(author);
    await tenant.withdraw('1.0.0');
    await tenant.release('1.0.0', { status: 'paused', artifacts: [FILE] });
    expect(await approveServing(approver, request)).toEqual(moved);
    expect(await present(request)).toMatchObject({ status: 'failed' });
  });

  /** Announces 1.0.0 with these files, as a code host does. */
  async function announce(actor: Actor, artifacts: readonly NewArtifact[]) {
    const { app, organizationId } = tenant;
    const times = { changedAt: null, publishedAt: null, filesFrom: null, filesTo: null };
    const announced = {
      name: { app, channel: 'stable', canonicalVersion: '1.0.0' },
      ...{ version: '1.0.0', notes: '', isEdit: false, artifacts },
      ...{ isComplete: () => true, holdOf: () => undefined },
      host: { provider: 'github', id: 1, tag: 'v1.0.0', ...times } as const,
    };
    return expectValue(await ledger.announceRelease(organizationId, announced, actor)).value;
  }

  test('files that a code host adds meanwhile are not what was asked for, nor added to what was approved (§33.3, §33.6)', async () => {
    const [author, approver] = [await person(), await person()];
    const host = await tenant.integration();
    await announce(host, [FILE]);
    const early = await askToServe(author);
    const more = { ...FILE, platform: 'windows', url: 'https://x.example/b' };
    expect(await announce(host, [FILE, more])).toMatchObject({ outcome: 'changed' });
    expect(await approveServing(approver, early)).toEqual(moved);
    expectValue(await approveServing(approver, await askToServe(author)));
    const last = { ...FILE, platform: 'darwin', url: 'https://x.example/c' };
    const left = await announce(host, [FILE, more, last]);
    expect(left).toMatchObject({
      outcome: 'left',
      left: 'approved',
      release: { status: 'published' },
    });
    expect(left).toHaveProperty('release.artifacts.length', 2);
  });

  test('approvals that are turned off meanwhile do not let a request do what it was not asked on (§33.6)', async () => {
    const [author, approver] = [await person(), await person()];
    const request = await ask(author, '1.0.0');
    await tenant.setChannel({ approvals: 'none' });
    expectValue(await publish(author, '1.0.0'));
    const failed = await approve(approver, request, '1.0.0');
    expect(failed).toMatchObject({ failure: 'approvalFailed' });
    expect(await present(request)).toMatchObject({ status: 'failed' });
  });

  test('settings wait by what devices could get, whatever is on record; what narrows does not (§33.11)', async () => {
    const author = await person('owner');
    const { organizationId, app } = tenant;
    const put = (channel: string, version: string, parts: Partial<NewRelease> = {}) =>
      tenant.release(version, { ...parts, channel });
    const turn = (channel: string, approvals: 'none' | 'one') =>
      tenant.setChannel({ approvals }, channel);
    const set = async (change: ChannelChange) => {
      const asks = { operation: 'updateChannel', body: change, reason: undefined } as const;
      const input = { app, channel: 'stable', change };
      const outcome = await ledger.updateChannel({ input, actor: author, mode: { asks } });
      if (!isFailure(outcome)) return 'done';
      return outcome.approval === undefined ? outcome.failure : 'waits';
    };
    expectValue(await ledger.createChannel(app, 'beta', OPERATOR));
    await turn('stable', 'none');
    await put('stable', '1.0.0', { artifacts: [{ ...FILE, signature: 's' }] });
    await put('stable', '2.0.0', { artifacts: [FILE] });
    await turn('stable', 'one');
    await turn('beta', 'one');
    expect(await set({ follows: 'beta' })).toBe('done');
    expect(await set({ follows: null })).toBe('done');
    // 1.0.0 would take over from 2.0.0, which has no signature.
    expect(await set({ requireSignature: true })).toBe('waits');
    expect(await set({ minimumSupportedVersion: '0.0.1' })).toBe('waits');
    // A request of a version that knew no DDI is to meet the same state.
    const waiting = await database.query(
      'SELECT FROM approvals WHERE app_id = $1 AND strpos(asked_on::text, $2) > 0',
      [tenant.appId, 'ddi'],
    );
    expect(waiting).toEqual([]);
    await turn('beta', 'none');
    await put('beta', '0.5.0', { rolloutPct: 1 });
    await turn('beta', 'one');
    // It is the lowest, and comes once the others are paused.
    expect(await set({ follows: 'beta' })).toBe('waits');
    expect(await set({ approvalDays: 3, updateMode: 'recommended' })).toBe('done');
    const name = { app, channel: 'stable', canonicalVersion: '2.0.0' };
    const paused = (serving: Serving) => ({ ...serving, status: 'paused' as const });
    const input = { ...name, transition: paused };
    expectValue(await ledger.controlServing({ scope: organizationId, input, actor: author }));
    expect(await set({ requireSignature: true })).toBe('done');
    const many = LIMIT.comparedReleasesMax;
    await database.query(
      `INSERT INTO releases (id, channel_id, version, canonical_version, notes, status, rollout_pct)
       SELECT 'rel_' || n || $3, channels.id, n || '.0.0', n || '.0.0', '', 'paused', 0
       FROM channels, generate_series(100, 99 + $2::int) AS n
       WHERE channels.app_id = $1 AND channels.name = 'beta'`,
      [tenant.appId, many, app],
    );
    expect(await set({ approvalDays: 4, minimumSupportedVersion: null })).toBe('done');
    // Nothing of it is served, but that many are not looked through.
    expect(await set({ follows: 'beta' })).toBe('waits');
  });

  test('a publish, a protection and a follow at once bring a follower nothing that one person published (§33.11)', async () => {
    const author = await person('owner');
    const { app } = tenant;
    const mode = { asks: { operation: 'updateChannel', body: {}, reason: undefined } } as const;
    const set = (channel: string, change: ChannelChange) =>
      ledger.updateChannel({ input: { app, channel, change }, actor: author, mode });
    for (let round = 0; round < 8; round++) {
      const beta = `beta-${round}`;
      expectValue(await ledger.createChannel(app, beta, OPERATOR));
      const publishing = () => tenant.publish('66.0.0', { channel: beta }, { actor: author, mode });
      const calls = [
        publishing,
        () => set(beta, { approvals: 'one' }),
        () => set('stable', { follows: beta }),
      ];
      const turned = [...calls.slice(round % 3), ...calls.slice(0, round % 3)];
      const outcomes = await Promise.all(turned.map((call) => call()));
      const refusals = outcomes.flatMap((outcome) => (isFailure(outcome) ? [outcome.failure] : []));
      expect(new Set([...refusals, 'awaitsApproval'])).toEqual(new Set(['awaitsApproval']));
      expect((await tenant.stable()).releases).toEqual([]);
      await tenant.setChannel({ follows: null });
    }
  });

  test('an audit entry names the request, its call and its author', async () => {
    const [author, approver] = [await person(), await person()];
    const request = await ask(author, '1.0.0');
    const call = { id: request.id, reason: 'no' };
    expectValue(await ledger.declineApproval(call, approver));
    const [declined, requested] = await tenant.audit();
    const requestedBy = `account:${author.email}`;
    const subject = `${tenant.app}/stable@1.0.0`;
    expect(declined).toMatchObject({
      ...{ action: 'approval.decline', actor: `account:${approver.email}`, subject, reason: 'no' },
      after: { approval: request.id, status: 'declined', operation: 'publishRelease', requestedBy },
    });
    expect(requested).toMatchObject({
      ...{ action: 'approval.request', actor: requestedBy, subject },
      after: { approval: request.id, status: 'pending', operation: 'publishRelease' },
    });
  });

  test('of two approvals at once, of one request or of two for a release, exactly one counts (§33.6)', async () => {
    const [author, one, two] = [await person(), await person(), await person()];
    await tenant.setChannel({ approvals: 'none' });
    await tenant.release('1.0.0', { rolloutPct: 0 });
    await tenant.setChannel({ approvals: 'one' });
    for (let round = 1; round <= ROUNDS; round++) {
      const isOfOne = round % 2 === 0;
      const low = { rolloutPct: 2 * round - 1 };
      const high = isOfOne ? low : { rolloutPct: 2 * round };
      const first = requestOf(await serve(author, low));
      const second = isOfOne ? first : requestOf(await serve(author, high));
      const outcomes = await Promise.all([
        serve(one, low, { id: first.id, reason: undefined }),
        serve(two, high, { id: second.id, reason: undefined }),
      ]);
      const refused = outcomes.filter(isFailure).map(({ failure }) => failure);
      expect(refused).toEqual([isOfOne ? 'approvalDecided' : 'approvalFailed']);
      const [release] = (await tenant.stable()).releases;
      expect(release).toMatchObject(isFailure(outcomes[0]) ? high : low);
    }
  });

  test.each(['paused', 'rolled_back', 'stopped'] as const)(
    'of two approvals of a raise, while its release is %s, one counts at most, and none after that (§33.6)',
    async (how) => {
      const [author, one, two] = [await person(), await person(), await person()];
      const { organizationId: scope, app } = tenant;
      await tenant.setChannel({ approvals: 'none' });
      const versions = Array.from({ length: ROUNDS }, (_, round) => `${round + 1}.0.0`);
      for (const version of versions) {
        await tenant.release(version, { rolloutPct: 10 });
      }
      await tenant.setChannel({ approvals: 'one' });
      for (const version of versions) {
        const raise = (actor: Actor, approves?: ApprovingCall) =>
          serve(actor, { rolloutPct: 50 }, approves, version);
        const request = requestOf(await raise(author));
        const approves = { id: request.id, reason: undefined };
        const status = how === 'stopped' ? 'paused' : how;
        const input = { app, channel: 'stable' };
        const [first, second] = await Promise.all([
          raise(one, approves),
          raise(two, approves),
          how === 'stopped'
            ? ledger.stopReleases({ scope, input, actor: PUBLISHER })
            : tenant.control(version, { status }),
        ]);
        const carried = [first, second].filter((outcome) => !isFailure(outcome)).length;
        expect(carried).toBeLessThanOrEqual(1);
        expect((await present(request)).status).toBe(carried === 1 ? 'approved' : 'failed');
        const { releases } = await tenant.stable();
        expect(releases.find((each) => each.version === version)).toMatchObject({
          ...{ status, rolloutPct: carried === 1 ? 50 : 10 },
        });
        const [last] = (await tenant.audit()).filter(
          ({ action, subject }) => action === 'release.serve' && subject.endsWith(`@${version}`),
        );
        expect(last?.after).toMatchObject({ status });
      }
    },
  );

  test.each([
    ['the key that asked is revoked', 'expired'],
    ['its author loses the role', 'expired'],
    ['its approver loses the role', 'pending'],
  ])(
    'while %s, an approval carries out all or nothing, and the author none (§33.5, §33.7)',
    async (what, left) => {
      for (let round = 0; round < ROUNDS; round++) {
        const [author, approver] = [await person(), await person()];
        const key = await tenant.key();
        const isByKey = what.includes('key');
        const version = `${round + 1}.0.0`;
        const request = await ask(isByKey ? key : author, version);
        const end = async () => {
          // Carrying out a call takes longer: at the same time, no approval would come first.
          await sleep(Math.random() * 15);
          if (isByKey) {
            return database.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [key.id]);
          }
          const { accountId } = what.includes('author') ? author : approver;
          const lost = `UPDATE memberships SET role = 'viewer' WHERE account_id = $1`;
          return database.query(lost, [accountId]);
        };
        const [approved, own] = await Promise.all([
          approve(approver, request, version),
          approve(author, request, version),
          end(),
        ]);
        const isDone = [approved, ...(isByKey ? [own] : [])].some((each) => !isFailure(each));
        if (!isByKey) expect(isFailure(own)).toBe(true);
        expect((await present(request)).status).toBe(isDone ? 'approved' : left);
        const { releases } = await tenant.stable();
        expect(releases.some((each) => each.version === version)).toBe(isDone);
      }
    },
  );
}
