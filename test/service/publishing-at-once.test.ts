// Tests publishers' calls at the same time over HTTP: of one version one is published, changes are applied
// whole and one after the other, and an offer and a narrowing see each other (docs/contract.md 3.6, 3.7 and
// 11).

import { expect, it } from 'vitest';
import { auditOf, expectChain, type Json, releaseOf, releasesOf } from '../support/published.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { check, control, createTenant, publish, type Tenant } from '../support/tenant.ts';

const ROUNDS = [1, 2, 3];

serviceSuite('publishing at the same time', (node) => {
  const listed = (tenant: Tenant) => releasesOf(node, tenant);

  /** Returns the tenant's entries of an action in the audit, oldest first. */
  async function audited(tenant: Tenant, action = 'release.serve'): Promise<Json[]> {
    return (await auditOf(node, tenant, `action=${action}`)).reverse();
  }

  /** A tenant with 1.0.0 on stable. */
  async function withRelease(more: Json = {}): Promise<Tenant> {
    const tenant = await createTenant(node);
    expect((await publish(node, tenant, '1.0.0', more)).status).toBe(201);
    return tenant;
  }

  it('of parallel publishes of one version exactly one is 201, the others are 409', async () => {
    const tenant = await createTenant(node);
    const spellings = ['1.2.0', 'v1.2', '1.2', '1.02.0', 'V1.2.0.0', '1.2.0', '01.2', '1.2.00'];
    const answers = await Promise.all(spellings.map((version) => publish(node, tenant, version)));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([201, ...spellings.slice(1).map(() => 409)]);
    const winners = answers.filter(({ status }) => status === 201);
    expect(await listed(tenant)).toStrictEqual(winners.map(releaseOf));
    expect(await audited(tenant, 'release.publish')).toHaveLength(1);
  });

  it('of parallel publishes of different versions every one lands', async () => {
    const tenant = await createTenant(node);
    const versions = Array.from({ length: 12 }, (_, index) => `1.0.${index}`);
    const answers = await Promise.all(versions.map((version) => publish(node, tenant, version)));
    expect(answers.map(({ status }) => status)).toEqual(versions.map(() => 201));
    const stored = (await listed(tenant)).map(({ version }) => version);
    expect(stored.sort()).toEqual([...versions].sort());
    expect(await audited(tenant, 'release.publish')).toHaveLength(versions.length);
    expect((await check(node, tenant, '0.1')).body?.version).toBe('1.0.11');
  });

  it('both of two changes are applied whole, one after the other', async () => {
    for (const _ of ROUNDS) {
      const tenant = await withRelease();
      const answers = await Promise.all(
        [
          { rollout: 40, status: 'paused', targets: { matchLabels: { ring: ['a'] } } },
          { rollout: 60, status: 'deprecated', targets: { matchLabels: { ring: ['b'] } } },
        ].map((change) => control(node, tenant, '1.0.0', change)),
      );
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      const entries = await audited(tenant);
      expect(entries).toHaveLength(2);
      expectChain(entries);
      const { rolloutPct, status } = (await listed(tenant))[0] ?? {};
      expect(entries[1]?.after).toMatchObject({ rolloutPct, status });
      const last = answers.map(releaseOf).find((each) => each.rolloutPct === rolloutPct);
      expect(last).toMatchObject(entries[1]?.after as Json);
    }
  });

  it('raises of an offered release: it ends at the highest, and never fell', async () => {
    for (const _ of ROUNDS) {
      const tenant = await withRelease({ rollout: 30 });
      const devices = Array.from({ length: 30 }, (_, index) => `device-${index}`);
      const offers = devices.map((device) => check(node, tenant, '0.1.0', { device }));
      expect((await Promise.all(offers)).map(({ status }) => status)).toContain(200);
      const answers = await Promise.all(
        [40, 80, 60].map((rollout) => control(node, tenant, '1.0.0', { rollout })),
      );
      for (const { status } of answers) expect([200, 422]).toContain(status);
      expect(await listed(tenant)).toMatchObject([{ rolloutPct: 80 }]);
      const entries = await audited(tenant);
      const steps = entries.map(({ after }) => (after as Json).rolloutPct);
      expect(steps).toEqual([...steps].sort((a, b) => Number(a) - Number(b)));
      expectChain(entries);
    }
  });

  it('a rollback and a resume: it ends rolled back, in either order', async () => {
    for (const _ of ROUNDS) {
      const tenant = await withRelease({ status: 'paused' });
      const [rollback, resume] = await Promise.all([
        control(node, tenant, '1.0.0', { status: 'rolled_back' }),
        control(node, tenant, '1.0.0', { status: 'published' }),
      ]);
      expect(rollback?.status).toBe(200);
      expect([200, 409]).toContain(resume?.status);
      expect(await listed(tenant)).toMatchObject([{ status: 'rolled_back' }]);
      expect((await check(node, tenant, '0.1.0')).status).toBe(204);
    }
  });

  it('a first offer and a narrowing: either the offer sees it, or the offer forbids it', async () => {
    const tenant = await createTenant(node);
    for (let round = 1; round <= 15; round++) {
      const [before, version] = [`1.0.${round - 1}`, `1.0.${round}`];
      await publish(node, tenant, version);
      const [offer, narrowing] = await Promise.all([
        check(node, tenant, before, { device: 'one' }),
        control(node, tenant, version, { rollout: 0 }),
      ]);
      expect(['200 and 422', '204 and 200']).toContain(`${offer.status} and ${narrowing.status}`);
    }
  });
});
