// Tests decisions about requests against other calls on two nodes: whatever comes first, a request is carried
// out at most once, never after its release was stopped, and never without the rights of both who asked and
// who approve (docs/contract.md 33.6 and 33.7).

import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { type Cluster, type ClusterNode, startCluster } from '../support/cluster.ts';
import { sleep } from '../support/eventually.ts';
import { IS_FULL } from '../support/full-run.ts';
import { member, type Person } from '../support/person.ts';
import { auditOf, type Json, releasesOf } from '../support/published.ts';
import {
  type Answer,
  admin,
  control,
  createTenant,
  manage,
  publish,
  type Tenant,
} from '../support/tenant.ts';

const ROUNDS = IS_FULL ? 200 : 8;
/** Carrying out a call takes longer than ending a right: at the same time, no approval would come first. */
const HEAD_START_MS = 60;
const PAUSE = { status: 'paused' };
const BACK = { status: 'rolled_back' };
const TIMEOUT_MS = IS_FULL ? 1_800_000 : 180_000;

describeOnRealStores('approvals race', () => {
  let cluster: Cluster;
  let nodes: [ClusterNode, ClusterNode];
  let tenant: Tenant;
  let approvers: [Person, Person];
  /** Rounds of a test in which the approval came first, and the others. */
  let first = { approval: 0, other: 0 };

  beforeAll(async () => {
    cluster = await startCluster();
    nodes = await Promise.all([cluster.addNode(), cluster.addNode()]);
    const [here, there] = nodes;
    tenant = await createTenant(here);
    await admin(here, 'PATCH', 'channels', { app: tenant.app, name: 'stable', approvals: 'one' });
    approvers = [
      await member(here, tenant.org, 'publisher'),
      await member(there, tenant.org, 'owner'),
    ];
  });
  afterAll(() => cluster?.dispose());
  beforeEach(() => {
    first = { approval: 0, other: 0 };
  });
  afterEach(({ task }) => console.info(`${task.name}: ${JSON.stringify(first)}`));

  /** Runs the rounds of a test, with a new key now and then: one key may make 300 calls a minute. */
  async function inRounds(work: (round: number) => Promise<void>): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) {
      if (round % 10 === 0) {
        const made = await admin(nodes[0], 'POST', 'keys', { org: tenant.org, name: 'rounds' });
        tenant = { ...tenant, secret: String(made.body?.secret) };
      }
      await work(round);
    }
  }

  /** Calls at a random time within some milliseconds. */
  async function within(ms: number, call: () => Promise<Answer>): Promise<Answer> {
    await sleep(Math.random() * ms);
    return call();
  }

  const idOf = ({ body, text }: Answer) => {
    const approval = body?.approval as Json | undefined;
    if (approval === undefined) throw new Error(`It did not wait: ${text}`);
    return String(approval.id);
  };
  const approve = (person: Person, id: string) =>
    person.call('POST', `approvals/${id}/approve`, {});
  const statusOf = async (id: string) => {
    const { body } = await manage(nodes[0], tenant, 'GET', `approvals/${id}`);
    return ((body?.approval ?? {}) as Json).status;
  };

  /** A release that is published at 10 %, because a request for it was approved. */
  async function furnish(version: string): Promise<void> {
    const id = idOf(await publish(nodes[0], tenant, version, { rollout: 10 }));
    expect((await approve(approvers[0], id)).status).toBe(200);
  }

  const releaseOf = async (version: string) =>
    (await releasesOf(nodes[1], tenant, `app=${tenant.app}&version=${version}`))[0];

  it.each([
    [1, 'a pause', 'paused', (version: string) => control(nodes[1], tenant, version, PAUSE)],
    [
      2,
      'a roll-back',
      'rolled_back',
      (version: string) => control(nodes[1], tenant, version, BACK),
    ],
    [3, 'a stop', 'paused', () => manage(nodes[1], tenant, 'POST', 'stop', { app: tenant.app })],
  ] as const)(
    '%i. two approvals with %s',
    { timeout: TIMEOUT_MS },
    async (major, _, status, stop) => {
      const [here] = nodes;
      await inRounds(async (round) => {
        const version = `${major}.${round}.0`;
        await furnish(version);
        const id = idOf(await control(here, tenant, version, { rollout: 50 }));
        const [one, two, stopped] = await Promise.all([
          approve(approvers[0], id),
          approve(approvers[1], id),
          stop(version),
        ]);
        expect(stopped.status, stopped.text).toBe(200);
        const carried = [one, two].filter((answer) => answer.status === 200);
        expect(carried.length).toBeLessThanOrEqual(1);
        expect([one.status, two.status].sort()).toEqual(
          carried.length === 1 ? [200, 409] : [409, 409],
        );
        expect(await statusOf(id)).toBe(carried.length === 1 ? 'approved' : 'failed');
        const release = await releaseOf(version);
        expect(release).toMatchObject({ status, rolloutPct: carried.length === 1 ? 50 : 10 });
        const query = `action=release.serve&subject=@${version}&limit=10`;
        const entries = await auditOf(here, tenant, query);
        // Newest first: the raise, if there was one, stands before the stop.
        const [last] = entries;
        expect(entries).toHaveLength(1 + carried.length);
        expect(last?.after).toMatchObject({ status });
        first[carried.length === 1 ? 'approval' : 'other'] += 1;
      });
    },
  );

  it('two requests for the same release: the second was asked on another state', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const [here, there] = nodes;
    await inRounds(async (round) => {
      const version = `4.${round}.0`;
      await furnish(version);
      const ids = [
        idOf(await control(here, tenant, version, { rollout: 30 })),
        idOf(await control(there, tenant, version, { rollout: 60 })),
      ] as const;
      const answers = await Promise.all(
        ids.map((id, index) => approve(approvers[index % 2 ? 1 : 0], id)),
      );
      expect(answers.map((answer) => answer.status).sort()).toEqual([200, 409]);
      const rolloutPct = answers[0]?.status === 200 ? 30 : 60;
      expect(await releaseOf(version)).toMatchObject({ rolloutPct });
      first[rolloutPct === 30 ? 'approval' : 'other'] += 1;
    });
  });

  it('an approval with a revoked key', { timeout: TIMEOUT_MS }, async () => {
    const [here, there] = nodes;
    await inRounds(async (round) => {
      const made = await admin(here, 'POST', 'keys', { org: tenant.org, name: 'short' });
      const short = { ...tenant, secret: String(made.body?.secret) };
      const version = `5.${round}.0`;
      const id = idOf(await publish(there, short, version));
      const [revoked, approved] = await Promise.all([
        within(HEAD_START_MS, () => admin(there, 'POST', `keys/${made.body?.id}/revoke`, {})),
        approve(approvers[0], id),
      ]);
      expect(revoked.status).toBe(200);
      expect([200, 409]).toContain(approved.status);
      expect(await statusOf(id)).toBe(approved.status === 200 ? 'approved' : 'expired');
      expect((await releaseOf(version)) !== undefined).toBe(approved.status === 200);
      first[approved.status === 200 ? 'approval' : 'other'] += 1;
    });
  });

  it.each([
    [6, 'author'],
    [7, 'approver'],
  ] as const)(
    '%i. an approval with the end of its %s',
    { timeout: TIMEOUT_MS },
    async (major, who) => {
      const [here, there] = nodes;
      const people = {
        author: await member(here, tenant.org, 'publisher'),
        approver: await member(there, tenant.org, 'publisher'),
      };
      const { author, approver } = people;
      const role = (to: string) => {
        const body = { org: tenant.org, account: people[who].accountId, role: to };
        return admin(there, 'PATCH', 'members', body);
      };
      await inRounds(async (round) => {
        const version = `${major}.${round}.0`;
        const body = { app: tenant.app, channel: 'stable', version };
        const id = idOf(await author.call('POST', 'releases', body));
        const [lost, approved, own] = await Promise.all([
          within(HEAD_START_MS, () => role('viewer')),
          approve(approver, id),
          approve(author, id),
        ]);
        expect(lost.status).toBe(200);
        expect(own.status).toBeGreaterThanOrEqual(400);
        const isDone = approved.status === 200;
        const left = who === 'author' ? 'expired' : 'pending';
        expect(await statusOf(id), `${approved.status} ${approved.text}`).toBe(
          isDone ? 'approved' : left,
        );
        expect((await releaseOf(version)) !== undefined).toBe(isDone);
        first[isDone ? 'approval' : 'other'] += 1;
        // So that never too many wait.
        if (!isDone) await approvers[0].call('POST', `approvals/${id}/decline`, {});
        await role('publisher');
      });
    },
  );
});
