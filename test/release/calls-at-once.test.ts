// Tests calls that arrive at once on two nodes. Of a publish with an idempotency key one counts. Deliveries:
// GitHub sends up to three for one click, and the flows of a real repository come in every order, each twice.
// Whatever the order, the release ends as the last word of the code host says.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { type Cluster, type ClusterNode, startCluster } from '../support/cluster.ts';
import { type CodeHost, enableCodeHost } from '../support/gitea.ts';
import { asset, deliver, enableWebhook, type Hook, releaseEvent } from '../support/github.ts';
import { type Answer, createTenant, type Tenant } from '../support/tenant.ts';

const RELEASES = 24;
/** Orders in which events come: each is rotated by one. */
const FLOWS = 8;
const PUBLISHED_TWICE = 20;
const FILES = ['notes-linux-amd64', 'Notes_aarch64.dmg', 'notes.msi'];
const EXPECT = ['linux', 'darwin', 'windows'];
const SECRET_KEY = 'shared by the nodes';

type Payload = ReturnType<typeof releaseEvent>;

describeOnRealStores('calls at once on two nodes', () => {
  let cluster: Cluster;
  let nodes: readonly [ClusterNode, ClusterNode];
  let tenant: Tenant;
  let hook: Hook;
  beforeAll(async () => {
    cluster = await startCluster();
    nodes = await Promise.all([cluster.addNode({ SECRET_KEY }), cluster.addNode({ SECRET_KEY })]);
    tenant = await createTenant(nodes[0]);
    hook = await enableWebhook(nodes[0], tenant);
  });
  afterAll(() => cluster?.dispose());

  /** Sends the deliveries of one click on "Publish", each to the next node in turn. */
  function publishClick(version: string, turn: number): Promise<Answer[]> {
    const assets = [asset(`notes-${version}-linux-amd64`)];
    return Promise.all(
      ['created', 'published', 'released'].map((action, index) =>
        deliver(
          nodes[(turn + index) % 2 === 0 ? 0 : 1],
          hook,
          releaseEvent(`v${version}`, { assets }, action),
        ),
      ),
    );
  }

  it(`${RELEASES} releases in a row: each is created once, its other two events are duplicates (§18.5)`, async () => {
    for (let index = 0; index < RELEASES; index++) {
      const answers = await publishClick(`1.${index}.0`, index);
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
      const outcomes = answers.map(({ body }) => body?.outcome).sort();
      expect(outcomes, `1.${index}.0`).toEqual(['created', 'duplicate', 'duplicate']);
      const ids = answers.map(({ body }) => (body?.release as { id?: string } | undefined)?.id);
      expect(new Set(ids).size).toBe(1);
    }
    const counted = await cluster.query<{ count: number }>(
      "SELECT count(*)::int AS count FROM audit_entries WHERE action = 'release.publish'",
    );
    expect(counted.rows).toEqual([{ count: RELEASES }]);
    const newest = `1.${RELEASES - 1}.0`;
    for (const node of nodes) {
      await tenant.at(node).untilOffered(newest);
    }
  });

  it('late assets that arrive at once on both nodes complete the release, none twice (§18.8)', async () => {
    await deliver(nodes[0], hook, releaseEvent('v2.0.0'));
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => {
        const assets = [asset(`try${index % 4}-linux-amd64`), asset(`try${index % 4}.dmg`)];
        const event = releaseEvent('v2.0.0', { assets }, 'released');
        return deliver(nodes[index % 2 === 0 ? 0 : 1], hook, event);
      }),
    );
    expect(answers.map(({ body }) => body?.outcome)).toEqual(Array(8).fill('duplicate'));
    const stored = await cluster.query<{ urls: string }>(
      `SELECT string_agg(url, ' ' ORDER BY url) AS urls FROM artifacts
       JOIN releases ON releases.id = release_id WHERE canonical_version = '2.0.0'`,
    );
    const names = stored.rows[0]?.urls.split(' ').map((url) => url.slice(url.lastIndexOf('/') + 1));
    const all = [0, 1, 2, 3].flatMap((at) => [`try${at}-linux-amd64`, `try${at}.dmg`]);
    expect(names?.toSorted()).toEqual(all.toSorted());
  });

  it('nothing in the database gives the secret away', async () => {
    const tables = ['webhooks', 'webhook_deliveries', 'audit_entries', 'apps', 'releases'];
    for (const table of tables) {
      const { rows } = await cluster.query(
        `SELECT row_to_json(${table})::text AS row FROM ${table}`,
      );
      expect(rows.length).toBeGreaterThan(0);
      const text = JSON.stringify(rows);
      for (const encoding of ['utf8', 'hex', 'base64', 'base64url'] as const) {
        expect(text).not.toContain(Buffer.from(hook.secret).toString(encoding));
      }
      expect(text).not.toContain(Buffer.from(hook.secret, 'hex').toString('base64url'));
    }
    const { rows } = await cluster.query<{ sealed: string }>(
      'SELECT sealed_secret AS sealed FROM webhooks',
    );
    expect(rows).toEqual([{ sealed: expect.stringMatching(/^v1\./) }]);
  });

  it('a release never changes where it came from', async () => {
    const change = cluster.query("UPDATE releases SET source = 'api' WHERE source = 'webhook'");
    await expect(change).rejects.toThrow('immutable');
  });

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
    const { body } = await tenant.at(nodes[0]).manage('GET', path);
    const { releases } = body as { releases: { status: string; artifacts: { url: string }[] }[] };
    const [one] = releases;
    return {
      status: one?.status ?? 'none',
      urls: (one?.artifacts ?? []).map(({ url }) => url.slice(url.lastIndexOf('/') + 1)),
    };
  }

  it(`${FLOWS} held releases whose files come one by one publish themselves, whole and once (§18.19)`, async () => {
    for (let turn = 0; turn < FLOWS; turn++) {
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
  });

  it(`${FLOWS} releases that are published and called back at once end paused, by their times (§18.13, §18.14)`, async () => {
    for (let turn = 0; turn < FLOWS; turn++) {
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
  });

  it(`${FLOWS} releases that are deleted and made anew at once end as the new one (§18.20, §18.21)`, async () => {
    for (let turn = 0; turn < FLOWS; turn++) {
      const tenant = await createTenant(nodes[0]);
      const host = await enableCodeHost(nodes[0], tenant.app, 'github');
      const say = (action: string, id: number, name: string) => {
        const published_at = `2026-02-0${id}T00:00:00Z`;
        return releaseEvent('v1.0.0', { id, published_at, assets: [asset(name)] }, action);
      };
      const events = [
        say('published', 1, 'notes-linux-amd64'),
        say('deleted', 1, 'notes-linux-amd64'),
        say('published', 2, 'Notes_aarch64.dmg'),
        say('released', 2, 'Notes_aarch64.dmg'),
      ];
      await deliverAll(host, events, turn);
      expect(await release(tenant)).toEqual({ status: 'published', urls: ['Notes_aarch64.dmg'] });
    }
  });

  function publishOn(node: ClusterNode, publisher: Tenant, version: string): Promise<Answer> {
    const artifacts = [{ platform: 'linux', url: 'https://downloads.example.com/a' }];
    const body = { app: publisher.app, channel: 'stable', version, artifacts };
    return publisher.at(node).manage('POST', 'releases', body, { 'idempotency-key': version });
  }

  it('with an idempotency key, on both nodes: one publishes, and both serve it when they answer (§11.18)', async () => {
    const publisher = await createTenant(nodes[0]);
    for (let round = 0; round < PUBLISHED_TWICE; round++) {
      const version = `1.${round}.0`;
      const answers = await Promise.all(
        nodes.map(async (node) => {
          const answer = await publishOn(node, publisher, version);
          const offered = await publisher.at(node).check('0.9.0');
          return { answer, offered };
        }),
      );
      expect(answers.map(({ answer }) => answer.status)).toEqual([201, 201]);
      expect(new Set(answers.map(({ answer }) => answer.text)).size).toBe(1);
      const isReplayed = answers.map(({ answer }) => answer.headers.has('idempotent-replayed'));
      expect(isReplayed.sort()).toEqual([false, true]);
      expect(answers.map(({ offered }) => offered.body?.version)).toEqual([version, version]);
    }
  });
});
