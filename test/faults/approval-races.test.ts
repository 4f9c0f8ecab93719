// Tests decisions about requests against other calls on two nodes: whatever comes first, a request is carried
// out at most once, never after its release was stopped, and never without the rights of both who asked and
// who approve (docs/contract.md 33.6 and 33.7).

import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { type Cluster, type ClusterNode, startCluster } from '../support/cluster.ts';
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

const ROUNDS = IS_FULL ? 200 : 20;
const TIMEOUT_MS = IS_FULL ? 1_800_000 : 180_000;

describeOnRealStores('approvals race', () => {
  let cluster: Cluster;
  let nodes: [ClusterNode, ClusterNode];
  let tenant: Tenant;
  let approvers: [Person, Person];

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

  it('two approvals with a pause and a roll-back', { timeout: TIMEOUT_MS }, async () => {
    const [here, there] = nodes;
    for (let round = 0; round < ROUNDS; round++) {
      const version = `1.${round}.0`;
      await furnish(version);
      const id = idOf(await control(here, tenant, version, { rollout: 50 }));
      const status = round % 2 === 0 ? 'paused' : 'rolled_back';
      const [one, two, stopped] = await Promise.all([
        approve(approvers[0], id),
        approve(approvers[1], id),
        control(there, tenant, version, { status }),
      ]);
      expect(stopped.status).toBe(200);
      const carried = [one, two].filter(({ status }) => status === 200);
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
    }
  });

  it('an approval with a revoked key', { timeout: TIMEOUT_MS }, async () => {
    const [here, there] = nodes;
    for (let round = 0; round < ROUNDS; round++) {
      const made = await admin(here, 'POST', 'keys', { org: tenant.org, name: 'short' });
      const short = { ...tenant, secret: String(made.body?.secret) };
      const version = `2.${round}.0`;
      const id = idOf(await publish(there, short, version));
      const [revoked, approved] = await Promise.all([
        admin(there, 'POST', `keys/${made.body?.id}/revoke`, {}),
        approve(approvers[0], id),
      ]);
      expect(revoked.status).toBe(200);
      expect([200, 409]).toContain(approved.status);
      expect(await statusOf(id)).toBe(approved.status === 200 ? 'approved' : 'expired');
      expect((await releaseOf(version)) !== undefined).toBe(approved.status === 200);
    }
  });

  it('an approval with the end of its author, and of its approver', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const [here, there] = nodes;
    const [author, approver] = [
      await member(here, tenant.org, 'publisher'),
      await member(there, tenant.org, 'publisher'),
    ];
    const role = (person: Person, to: string) => {
      const body = { org: tenant.org, account: person.accountId, role: to };
      return admin(there, 'PATCH', 'members', body);
    };
    for (let round = 0; round < ROUNDS; round++) {
      const version = `3.${round}.0`;
      const body = { app: tenant.app, channel: 'stable', version };
      const id = idOf(await author.call('POST', 'releases', body));
      const isAuthor = round % 2 === 0;
      const [lost, approved, own] = await Promise.all([
        role(isAuthor ? author : approver, 'viewer'),
        approve(approver, id),
        approve(author, id),
      ]);
      expect(lost.status).toBe(200);
      expect(own.status).toBeGreaterThanOrEqual(400);
      const isDone = approved.status === 200;
      const left = isAuthor ? 'expired' : 'pending';
      expect(await statusOf(id), `${approved.status} ${approved.text}`).toBe(
        isDone ? 'approved' : left,
      );
      expect((await releaseOf(version)) !== undefined).toBe(isDone);
      await role(isAuthor ? author : approver, 'publisher');
    }
  });
});
