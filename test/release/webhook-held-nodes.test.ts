// Tests the flows of a real repository on two nodes at once: recorded events in every order, each twice, the
// two nodes in turn. Whatever the order, the release ends as the last word of the code host says.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { type Cluster, type ClusterNode, startCluster } from '../support/cluster.ts';
import { type CodeHost, enableCodeHost } from '../support/gitea.ts';
import { asset, deliver, releaseEvent } from '../support/github.ts';
import { createTenant, manage, type Tenant } from '../support/tenant.ts';

type Payload = ReturnType<typeof releaseEvent>;

const SECRET_KEY = 'shared by the nodes';
const FILES = ['notes-linux-amd64', 'Notes_aarch64.dmg', 'notes.msi'];
const EXPECT = ['linux', 'darwin', 'windows'];
const ROUNDS = 24;

describeOnRealStores('a repository that announces on two nodes', () => {
  let cluster: Cluster;
  let nodes: readonly [ClusterNode, ClusterNode];
  beforeAll(async () => {
    cluster = await startCluster();
    nodes = await Promise.all([cluster.addNode({ SECRET_KEY }), cluster.addNode({ SECRET_KEY })]);
  });
  afterAll(() => cluster?.dispose());

  /** Sends every event twice and all of them at once, in a rotated order, to the nodes in turn. */
  async function deliverAll(host: CodeHost, events: readonly Payload[], turn: number) {
    const twice = [...events, ...events];
    const rotated = [...twice.slice(turn % twice.length), ...twice.slice(0, turn % twice.length)];
    const answers = await Promise.all(
      rotated.map((event, at) => deliver(nodes[(turn + at) % 2 === 0 ? 0 : 1], host, event)),
    );
    expect(answers.map(({ status }) => status)).toEqual(rotated.map(() => 200));
    return answers.map(({ body }) => body?.outcome);
  }

  async function release(tenant: Tenant): Promise<{ status: string; urls: string[] }> {
    const path = `releases?app=${tenant.app}&channel=stable`;
    const { body } = await manage(nodes[0], tenant, 'GET', path);
    const { releases } = body as { releases: { status: string; artifacts: { url: string }[] }[] };
    const [one] = releases;
    return {
      status: one?.status ?? 'none',
      urls: (one?.artifacts ?? []).map(({ url }) => url.slice(url.lastIndexOf('/') + 1)),
    };
  }

  it(`${ROUNDS} held releases whose files come one by one publish themselves, whole and once (§18.19)`, async () => {
    for (let turn = 0; turn < ROUNDS; turn++) {
      const tenant = await createTenant(nodes[0]);
      const host = await enableCodeHost(nodes[0], tenant.app, 'github', {
        hold: true,
        expect: EXPECT,
      });
      const events = FILES.map((name, at) =>
        releaseEvent(
          'v1.0.0',
          { assets: [asset(name)] },
          ['created', 'published', 'released'][at] ?? 'published',
        ),
      );
      const outcomes = await deliverAll(host, events, turn);
      expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(1);
      const { status, urls } = await release(tenant);
      expect([status, urls.toSorted()]).toEqual(['published', FILES.toSorted()]);
    }
  }, 120_000);

  it(`${ROUNDS} releases that are published and called back at once end paused, by their times (§18.13, §18.14)`, async () => {
    for (let turn = 0; turn < ROUNDS; turn++) {
      const tenant = await createTenant(nodes[0]);
      const host = await enableCodeHost(nodes[0], tenant.app, 'github');
      const at = (second: number) => `2026-02-01T00:00:0${second}Z`;
      const assets = [asset('notes-linux-amd64')];
      const first = releaseEvent('v1.0.0', { assets, updated_at: at(0) });
      await deliver(nodes[0], host, first);
      const events = [
        releaseEvent('v1.0.0', { assets, updated_at: at(1) }, 'released'),
        releaseEvent('v1.0.0', { assets, updated_at: at(2) }, 'unpublished'),
        releaseEvent('v1.0.0', { assets, updated_at: at(2) }, 'deleted'),
      ];
      await deliverAll(host, events, turn);
      expect((await release(tenant)).status).toBe('paused');
    }
  }, 120_000);
});
