// Tests that a webhook takes the releases of one repository, that of its first delivery (docs/contract.md
// 18.24), and what is told of the others.

import { beforeEach, describe, expect, it } from 'vitest';
import { deliverAs, enableCodeHost, giteaEvent } from '../support/gitea.ts';
import { deliver, enableWebhook, type Hook, releaseEvent } from '../support/github.ts';
import { releasesOf } from '../support/published.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { admin, createTenant, type Tenant } from '../support/tenant.ts';

type Repository = { readonly id?: number; readonly full_name: string };
type Shown = { readonly repository: unknown; readonly otherRepository: unknown };

const NOTES = { id: 7, full_name: 'acme/notes' };
const TOOLS = { id: 8, full_name: 'acme/tools' };
const REASON =
  'It is of acme/tools, and this webhook takes acme/notes: enable the webhook again to change that';

serviceSuite("a webhook's repository", (node) => {
  let tenant: Tenant;
  let hook: Hook;
  beforeEach(async () => {
    tenant = await createTenant(node);
    hook = await enableWebhook(node, tenant);
  });

  const say = (repository: Repository | undefined, version: string, action = 'published') =>
    deliver(node, hook, { ...releaseEvent(`v${version}`, {}, action), repository });

  const ping = (repository: Repository | undefined) =>
    deliver(node, hook, { zen: 'x', repository }, { event: 'ping' });

  async function shown(): Promise<Shown> {
    const { body } = await admin(node, 'GET', `webhooks?app=${tenant.app}`);
    const [webhook] = (body?.webhooks ?? []) as readonly Shown[];
    return webhook as Shown;
  }

  async function versions(): Promise<readonly unknown[]> {
    return (await releasesOf(node, tenant)).map(({ version }) => version).toSorted();
  }

  it('is that of its first release; one of another repository is ignored, with both names', async () => {
    expect((await say(NOTES, '1.0.0')).body?.outcome).toBe('created');
    expect(await shown()).toMatchObject({ repository: 'acme/notes', otherRepository: null });
    const foreign = await say(TOOLS, '9.0.0');
    expect(foreign.body).toEqual({ outcome: 'ignored', reason: REASON });
    expect(await versions()).toEqual(['1.0.0']);
    const { otherRepository } = await shown();
    expect(otherRepository).toEqual({ name: 'acme/tools', at: expect.any(String) });
    const { body } = await admin(node, 'GET', `webhooks?app=${tenant.app}`);
    expect(body).toMatchObject({ deliveries: [{ reason: REASON }, { reason: expect.anything() }] });
  });

  it('another repository calls nothing back', async () => {
    await say(NOTES, '1.0.0');
    expect((await say(TOOLS, '1.0.0', 'deleted')).body).toEqual({
      ...{ outcome: 'ignored', reason: REASON },
    });
    expect((await releasesOf(node, tenant))[0]).toMatchObject({ status: 'published' });
  });

  it('a repository that was renamed or moved keeps its id, and its new name is taken', async () => {
    await say(NOTES, '1.0.0');
    const moved = { id: 7, full_name: 'acme-inc/notes-app' };
    expect((await say(moved, '1.1.0')).body?.outcome).toBe('created');
    expect((await shown()).repository).toBe('acme-inc/notes-app');
  });

  it('one of the same name that was made anew is another one', async () => {
    await say(NOTES, '1.0.0');
    const anew = await say({ ...NOTES, id: 9 }, '1.1.0');
    expect(anew.body?.reason).toContain('acme/notes (9), and this webhook takes acme/notes (7)');
  });

  it('is that of a ping before; later pings of others say so', async () => {
    expect((await ping(undefined)).body?.reason).toBe('ping');
    expect((await shown()).repository).toBeNull();
    expect((await ping(NOTES)).body?.reason).toBe('ping');
    expect((await ping(TOOLS)).body?.reason).toBe(REASON);
    expect((await say(TOOLS, '1.0.0')).body?.reason).toBe(REASON);
    expect((await say(NOTES, '1.0.0')).body?.outcome).toBe('created');
  });

  it('what announces no release gives the webhook none', async () => {
    await deliver(node, hook, { ...releaseEvent('nightly'), repository: TOOLS });
    await say({ ...TOOLS, ...{ private: true } }, '1.0.0');
    await say(TOOLS, '1.0.0', 'edited');
    await say(TOOLS, '1.0.0', 'deleted');
    expect((await shown()).repository).toBeNull();
    expect((await say(NOTES, '1.1.0')).body?.outcome).toBe('created');
  });

  it('of two first ones at once, one is taken', async () => {
    const answers = await Promise.all([say(NOTES, '1.0.0'), say(TOOLS, '2.0.0')]);
    const outcomes = answers.map(({ body }) => body?.outcome);
    expect(outcomes.toSorted()).toEqual(['created', 'ignored']);
    expect(await versions()).toHaveLength(1);
  });

  it('an event that names no repository is taken, and one without its id goes by the name', async () => {
    await say(NOTES, '1.0.0');
    expect((await say(undefined, '1.1.0')).body?.outcome).toBe('created');
    expect((await say({ full_name: 'Acme/Notes' }, '1.2.0')).body?.outcome).toBe('created');
    expect((await say({ full_name: 'acme/tools' }, '1.3.0')).body?.outcome).toBe('ignored');
  });

  it('enabling it again forgets the repository', async () => {
    await say(NOTES, '1.0.0');
    await say(TOOLS, '1.1.0');
    hook = await enableWebhook(node, tenant);
    expect(await shown()).toMatchObject({ repository: null, otherRepository: null });
    expect((await say(TOOLS, '1.1.0')).body?.outcome).toBe('created');
    expect((await shown()).repository).toBe('acme/tools');
  });

  describe.each(['gitea', 'forgejo'] as const)('of %s', (provider) => {
    it('is remembered by its id as well', async () => {
      const host = await enableCodeHost(node, tenant.app, provider);
      const told = (version: string, repository: object) =>
        deliverAs(node, host, giteaEvent('published', `v${version}`, {}, { ...repository }));
      expect((await told('1.0.0', NOTES)).body?.outcome).toBe('created');
      expect((await told('1.1.0', TOOLS)).body?.reason).toBe(REASON);
      expect((await told('1.1.0', { ...NOTES, full_name: 'b/c' })).body?.outcome).not.toBe(
        'ignored',
      );
    });
  });
});
