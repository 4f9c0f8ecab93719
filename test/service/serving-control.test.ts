// Tests serving control over HTTP: what is answered, what devices get then, what is refused once a release
// was offered, and that a call is applied whole or not at all (docs/contract.md 3, 4.3 and 14). All
// transitions and invariants are tested in test/domain/release/serving-change.test.ts and broadening.test.ts,
// the fields of the body in test/http/release-body.test.ts, calls at the same time in publishing-at-
// once.test.ts.

import { describe, expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import {
  auditOf,
  expectChain,
  expectWithin,
  type Json,
  releaseOf,
  releasesOf,
} from '../support/published.ts';
import { serviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  type CheckOptions,
  check,
  control,
  createTenant,
  publish,
  send,
  type Tenant,
} from '../support/tenant.ts';

const CANNOT_BE_RESERVED = 'A rolled-back release cannot be re-served';
const OLD = '0.1.0';
const RING_A = { matchLabels: { ring: ['a'] }, matchExpressions: [] };

serviceSuite('serving control', (node) => {
  /** A tenant with 1.0.0 on stable. */
  async function withRelease(more: Json = {}): Promise<Tenant> {
    const tenant = await createTenant(node);
    const answer = await publish(node, tenant, '1.0.0', more);
    expect(answer.status).toBe(201);
    return tenant;
  }

  /** A tenant whose 1.0.0 was offered; below 100 % several devices ask until one is offered it. */
  async function withOffered(more: Json = {}, query?: string): Promise<Tenant> {
    const tenant = await withRelease(more);
    for (let index = 0; index < 100; index++) {
      const options = { device: `device-${index}`, ...(query === undefined ? {} : { query }) };
      if ((await check(node, tenant, OLD, options)).status === 200) return tenant;
    }
    throw new Error('1.0.0 was offered to nobody');
  }

  function change(tenant: Tenant, parts: Json): Promise<Answer> {
    return control(node, tenant, '1.0.0', parts);
  }

  /** Returns the serving state of 1.0.0. A call that changes nothing is the only way to read the targets. */
  async function stateOf(tenant: Tenant): Promise<Json> {
    const [release] = await releasesOf(node, tenant, 'channel=stable&version=1.0.0');
    const answer = await change(tenant, { status: release?.status });
    expect(answer.status).toBe(200);
    return releaseOf(answer);
  }

  /** Returns the tenant's serving-control entries of the audit, oldest first. */
  async function audited(tenant: Tenant): Promise<Json[]> {
    return (await auditOf(node, tenant, 'action=release.serve')).reverse();
  }

  async function statusFor(tenant: Tenant, options: CheckOptions = {}): Promise<number> {
    return (await check(node, tenant, OLD, options)).status;
  }

  /** Makes a call that must be refused, and must change neither the release nor the audit. */
  async function refused(tenant: Tenant, parts: Json): Promise<Answer> {
    const before = [await stateOf(tenant), await audited(tenant)];
    const answer = await change(tenant, parts);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.status).toBeLessThan(500);
    expect([await stateOf(tenant), await audited(tenant)]).toStrictEqual(before);
    return answer;
  }

  describe('the answer', () => {
    it("is 200 with exactly the contract's fields, and the same for the same call (§4.3)", async () => {
      const tenant = await withRelease();
      const targets = {
        matchLabels: { ring: ['a', 'b'], region: ['eu'] },
        matchExpressions: [{ key: '$version', operator: 'VersionGte', values: ['0.0.1'] }],
      };
      for (const app of [tenant.app, tenant.appId]) {
        const answer = await change(tenant, { app, rollout: 25, status: 'paused', targets });
        const name = { app: tenant.app, channel: 'stable', version: '1.0.0' };
        const release = { ...name, rolloutPct: 25, status: 'paused', targets };
        expect([answer.status, answer.body]).toStrictEqual([200, { release }]);
        expect(answer.headers.get('content-type')).toBe('application/json');
      }
    });

    it('changes only what the call names; targets are null when there are none (§2.3)', async () => {
      const tenant = await withRelease({ rollout: 10, status: 'paused', targets: RING_A });
      const state: Json = { rolloutPct: 10, status: 'paused', targets: RING_A };
      for (const [call, told] of [
        [{ rollout: 20 }, { rolloutPct: 20 }],
        [{ status: 'published' }, { status: 'published' }],
        [{ targets: null }, { targets: null }],
        [{ targets: {} }, { targets: { matchLabels: {}, matchExpressions: [] } }],
      ]) {
        Object.assign(state, told);
        expect(releaseOf(await change(tenant, call ?? {}))).toMatchObject(state);
      }
    });

    it('is of the release by its canonical version, which is echoed as published', async () => {
      const tenant = await createTenant(node);
      const spellings = { 'v1.2': '1.2.0', '2026.1.15': '2026.01.15', '1.0.0-rc.1': 'V1-rc.01' };
      for (const [published, asked] of Object.entries(spellings)) {
        await publish(node, tenant, published);
        const answer = await control(node, tenant, asked, { rollout: 10 });
        expect([answer.status, releaseOf(answer).version]).toEqual([200, published]);
      }
    });
  });

  describe('is refused', () => {
    it('with 400 for a body that is not valid, else 404 for what is not found (§4.3)', async () => {
      const tenant = await withRelease();
      for (const [parts, status, error] of [
        [{ rollout: 10, rolout: 10 }, 400, 'rolout: Unrecognized key'],
        [{ app: 'unknown', rolout: 10 }, 400, 'rolout: Unrecognized key'],
        [{ rollout: 10, channel: undefined }, 400, 'channel: Required'],
        [{ version: 'latest', rollout: 1 }, 400, 'version: Invalid version'],
        [{ rollout: 101 }, 400, 'rollout: Must be at most 100'],
        [{ status: 'draft' }, 400, /^status: Must be one of published, /],
        [{ targets: { matchLabels: { ring: [] } } }, 400, /^targets\.matchLabels\.ring: ./],
        [{}, 400, /rollout.*status.*targets/],
        [{ rollout: 10, app: 'unknown' }, 404, 'Unknown app'],
        [{ rollout: 10, channel: 'nightly' }, 404, 'Unknown channel'],
        [{ rollout: 10, version: '1.0.1' }, 404, 'Unknown release'],
        [{ rollout: 10, channel: 'beta' }, 404, 'Unknown release'],
        [{ rollout: 10, version: '1.0.0+1' }, 404, 'Unknown release'],
      ] as const) {
        const message = error instanceof RegExp ? expect.stringMatching(error) : error;
        expectError(await refused(tenant, parts), status, message);
      }
    });

    it("with 404 for another organization's release, by ref and by id (§5.2)", async () => {
      const [owner, stranger] = [await withRelease(), await createTenant(node)];
      for (const app of [owner.app, owner.appId]) {
        expectError(await change(stranger, { app, status: 'rolled_back' }), 404, 'Unknown app');
      }
      expect(await stateOf(owner)).toMatchObject({ status: 'published' });
      expect(await audited(owner)).toEqual([]);
    });

    it('with 400 before 409 and 422', async () => {
      const tenant = await withOffered();
      await change(tenant, { status: 'rolled_back' });
      expect((await change(tenant, { rollout: 1, status: 'published', x: 1 })).status).toBe(400);
    });
  });

  describe('the status (§3)', () => {
    it('paused is a temporary halt of offering, published resumes it', async () => {
      const tenant = await withOffered();
      await change(tenant, { status: 'paused' });
      expect(await statusFor(tenant)).toBe(204);
      await change(tenant, { status: 'published' });
      expect(await statusFor(tenant)).toBe(200);
    });

    it('rolled_back: devices on it get the newest published release below as a downgrade', async () => {
      const tenant = await createTenant(node);
      for (const version of ['1.0.0', '1.1.0', '1.2.0', '2.0.0']) {
        await publish(node, tenant, version);
      }
      await control(node, tenant, '1.2.0', { status: 'paused' });
      await control(node, tenant, '2.0.0', { status: 'rolled_back' });
      const back = { version: '1.1.0', allowDowngrade: true };
      expect((await check(node, tenant, '2.0.0')).body).toMatchObject(back);
      const below = await check(node, tenant, '1.0.0');
      expect(below.body).toMatchObject({ version: '1.1.0' });
      expect(below.body).not.toHaveProperty('allowDowngrade');
    });

    it('deprecated: not served, and the next update is required for devices on it; reversible', async () => {
      const tenant = await withOffered();
      await change(tenant, { status: 'deprecated' });
      expect(await statusFor(tenant)).toBe(204);
      await publish(node, tenant, '1.1.0');
      const modeFor = async (version: string) => {
        const { body } = await check(node, tenant, version);
        return [body?.version, body?.updateMode];
      };
      expect(await modeFor('1.0.0')).toEqual(['1.1.0', 'required']);
      expect(await modeFor(OLD)).toEqual(['1.1.0', 'optional']);
      await change(tenant, { status: 'published' });
      expect(await modeFor('1.0.0')).toEqual(['1.1.0', 'optional']);
      await control(node, tenant, '1.1.0', { status: 'paused' });
      expect(await statusFor(tenant)).toBe(200);
    });

    it('rolled_back is permanent: 409, alone or together with something else', async () => {
      const tenant = await withRelease({ rollout: 10 });
      await change(tenant, { status: 'rolled_back' });
      for (const status of ['published', 'paused', 'deprecated']) {
        for (const more of [{}, { rollout: 20, targets: null }]) {
          expectError(await refused(tenant, { status, ...more }), 409, CANNOT_BE_RESERVED);
        }
      }
      const answer = await change(tenant, { status: 'rolled_back', rollout: 20 });
      expect([answer.status, releaseOf(answer).rolloutPct]).toEqual([200, 20]);
      expect((await change(tenant, { rollout: 5, targets: RING_A })).status).toBe(200);
    });
  });

  it('a check that was not answered with the release is no offer of it, so that all may change (§3.6)', async () => {
    const tenant = await withRelease({ rollout: 0, targets: RING_A });
    await publish(node, tenant, '0.5.0');
    expect((await check(node, tenant, OLD, { device: 'one' })).body?.version).toBe('0.5.0');
    expect((await change(tenant, { rollout: 50 })).status).toBe(200);
    expect((await change(tenant, { rollout: 10 })).status).toBe(200);
  });

  describe('once offered, serving only widens (§3.6, 422)', () => {
    it('the rollout may only increase, whatever the status', async () => {
      const tenant = await withOffered({ rollout: 50 });
      expectInvariant(await refused(tenant, { rollout: 49 }), 50);
      for (const rollout of [50, 51, 100]) {
        const answer = await change(tenant, { rollout });
        expect([answer.status, releaseOf(answer).rolloutPct]).toEqual([200, rollout]);
      }
      for (const status of ['paused', 'deprecated', 'rolled_back']) {
        await change(tenant, { status });
        expectInvariant(await refused(tenant, { rollout: 99 }), 100);
        expectInvariant(await refused(tenant, { targets: RING_A }), 100);
      }
    });

    it('label targeting may only broaden, and expressions are frozen', async () => {
      const platform = { key: '$platform', operator: 'In', values: ['linux', 'windows'] };
      const frozen = { ...RING_A, matchExpressions: [platform] };
      const tenant = await withOffered({ targets: frozen }, 'l.ring=a');
      const narrower = { ...frozen, matchLabels: { ring: ['a'], constructor: ['x'] } };
      for (const targets of [narrower, null, {}, RING_A]) {
        expectInvariant(await refused(tenant, { targets }), 100);
      }
      const { body } = await refused(tenant, { targets: RING_A });
      expect(String(body?.error)).toMatch(/matchExpressions/);
      const wider = { ...frozen, matchLabels: { ring: ['b', 'a'] } };
      expect(releaseOf(await change(tenant, { targets: wider })).targets).toStrictEqual(wider);
      expectInvariant(await refused(tenant, { targets: frozen }), 100);
    });
  });

  it('what is refused of a call refuses the rest with it, and devices get what they got (§3.7)', async () => {
    const tenant = await withOffered({ rollout: 50 });
    const parts = { targets: RING_A, rollout: 60, status: 'paused' };
    expectInvariant(await refused(tenant, parts), 50);
    const lower = { targets: null, rollout: 40, status: 'paused' };
    expectInvariant(await refused(tenant, lower), 50);
    await change(tenant, { rollout: 100 });
    await refused(tenant, { targets: RING_A, status: 'paused' });
    expect(await statusFor(tenant)).toBe(200);
  });

  // An object that is built key by key loses such a key: the rule would be gone, and all devices offered the
  // release.
  it('a label key named like a member of objects stays a rule', async () => {
    for (const key of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      const tenant = await withRelease();
      const address = `"app":"${tenant.app}","channel":"stable","version":"1.0.0"`;
      const body = `{${address},"targets":{"matchLabels":{"${key}":["x"]}}}`;
      const headers = { authorization: `Bearer ${tenant.secret}` };
      const answer = await send(node, 'PATCH', '/api/v1/releases', { body, headers });
      expect(answer.status).toBe(200);
      expect(answer.text).toContain(`"matchLabels":{"${key}":["x"]}`);
      const queries = ['', `l.${key}=y`, `l.${key}=x`];
      const statuses = queries.map((query) => statusFor(tenant, { query }));
      expect(await Promise.all(statuses)).toEqual([204, 204, 200]);
    }
  });

  it('the audit says who changed what, from what to what, and when', async () => {
    const tenant = await withRelease({ rollout: 10 });
    const before = Date.now();
    await control(node, tenant, 'v1.0', { rollout: 20, status: 'paused', targets: RING_A });
    const after = Date.now();
    for (const part of [{ rollout: 30 }, { status: 'published' }]) await change(tenant, part);
    const entries = await audited(tenant);
    expect(entries).toHaveLength(3);
    expectChain(entries);
    expect(entries[0]).toStrictEqual({
      ...{ id: expect.any(String), at: expect.any(String), requestId: expect.any(String) },
      ...{ actor: expect.stringContaining(tenant.keyId), action: 'release.serve', reason: null },
      subject: `${tenant.app}/stable@1.0.0`,
      before: { rolloutPct: 10, status: 'published', targets: null },
      after: { rolloutPct: 20, status: 'paused', targets: RING_A },
    });
    expectWithin(entries[0]?.at, before, after);
  });
});

/**
 * Expects a 422 that states the offered percentage, that the rollout can only increase and label targeting
 * only broaden, and that suggests pause and rollback (§14.9).
 */
function expectInvariant(answer: Answer, offeredPct: number): void {
  expect([answer.status, answer.body]).toStrictEqual([422, { error: expect.stringMatching(/./) }]);
  for (const words of [
    new RegExp(`\\b${offeredPct} ?%`),
    ...[/rollout can only increase/, /label targeting can only broaden/],
    ...[/pause/i, /roll (it )?back|rollback/i],
  ]) {
    expect(answer.body?.error).toMatch(words);
  }
}
