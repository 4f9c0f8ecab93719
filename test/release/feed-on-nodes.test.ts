// Tests the release-notes feeds on several nodes, and without stores (docs/contract.md 4.9 and 4.10).

import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { type Cluster, type ClusterNode, startCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { feedBreaches } from '../support/feed-rules.ts';
import type { ServingNode } from '../support/node.ts';
import { type Answer, createTenant, send, type Tenant } from '../support/tenant.ts';

const FORMATS = ['', '/rss.xml'] as const;

describeOnRealStores('the release feeds on several nodes', () => {
  let cluster: Cluster;
  let publisher: ClusterNode;
  let other: ClusterNode;
  let tenant: Tenant;
  beforeAll(async () => {
    cluster = await startCluster();
    const settings = { PUBLIC_URL: 'https://updates.example.com/base' };
    [publisher, other] = await Promise.all([cluster.addNode(settings), cluster.addNode(settings)]);
    tenant = await createTenant(publisher, ['1.0.0']);
  });
  afterAll(() => cluster?.dispose());

  function feed(node: ServingNode, format: string): Promise<Answer> {
    return send(node, 'GET', `/feed/${tenant.app}/stable${format}`);
  }

  it('every node has the same bytes and tag, also of a change, and names itself by PUBLIC_URL', async () => {
    for (const format of FORMATS) {
      const [first, second] = [await feed(publisher, format), await feed(other, format)];
      const tags = [first, second].map(({ headers }) => headers.get('etag'));
      expect([second.text, tags[1]]).toEqual([first.text, tags[0]]);
      const version = `1.1.${format.length}`;
      await tenant.publish(version);
      const changed = await feed(publisher, format);
      expect(changed.text).toContain(version);
      const isThere = async () => (await feed(other, format)).text === changed.text;
      await eventually('the other node has it', isThere);
    }
    const { text } = await feed(publisher, '/rss.xml');
    const address = `https://updates.example.com/base/feed/${tenant.app}/stable`;
    expect(text).toContain(`<link>${address}</link>`);
    expect(await feedBreaches(text, `${address}/rss.xml`)).toEqual([]);
  });

  it('without stores: what a node knows it serves, what it cannot know is 503', async () => {
    const known = await feed(other, '');
    await cluster.postgres.stop();
    await cluster.redis.stop();
    expect((await feed(other, '')).text).toBe(known.text);
    await eventually(
      'the list of names is no longer fresh: an unknown one may be new',
      async () => {
        return (await send(other, 'GET', '/feed/who-knows/stable')).status === 503;
      },
    );
    for (const format of FORMATS) {
      const { status, headers, body } = await send(other, 'GET', `/feed/who-knows/stable${format}`);
      expect([status, Object.keys(body ?? {})]).toEqual([503, ['error']]);
      expect(headers.get('retry-after')).toBe('1');
      expect(headers.get('access-control-allow-origin')).toBe('*');
      expect(headers.get('cache-control')).toBe('no-store');
    }
  });
});
