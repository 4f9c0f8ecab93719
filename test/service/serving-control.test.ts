// Tests serving control over HTTP: which transitions exist, which changes are still allowed once a release
// was offered, and that a call is applied whole or not at all (docs/contract.md 3, 4.3 and 14).

import { describe, expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import { serviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  admin,
  type CheckOptions,
  check,
  control,
  createTenant,
  manage,
  publish,
  send,
  type Tenant,
} from '../support/tenant.ts';

const STATUSES = ['published', 'paused', 'deprecated', 'rolled_back'];
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const CANNOT_BE_RESERVED = 'A rolled-back release cannot be re-served';
const OLD = '0.1.0';

type Json = Record<string, unknown>;

serviceSuite('serving control', (node) => {
  /** A tenant with 1.0.0 on stable. */
  async function withRelease(more: Json = {}): Promise<Tenant> {
    const tenant = await createTenant(node);
    const answer = await publish(node, tenant, '1.0.0', more);
    expect(answer.status).toBe(201);
    return tenant;
  }

  /**
   * A tenant whose 1.0.0 was offered to a device; below 100 % several devices ask until one is offered it.
   */
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
    const { body } = await manage(node, tenant, 'GET', `releases?app=${tenant.app}`);
    const releases = (body?.releases ?? []) as Json[];
    const release = releases.find(({ version }) => version === '1.0.0');
    const answer = await change(tenant, { status: release?.status });
    expect(answer.status).toBe(200);
    return answer.body?.release as Json;
  }

  /** Returns the tenant's serving-control entries of the audit, newest first. */
  async function audited(tenant: Tenant): Promise<Json[]> {
    const { body } = await admin(node, 'GET', `audit?org=${tenant.org}&limit=1000`);
    const entries = body?.entries as Json[];
    return entries.filter((entry) => entry.action === 'release.serve');
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
    it("is 200 with exactly the contract's fields, nothing more (§4.3)", async () => {
      const tenant = await withRelease();
      const targets = {
        matchLabels: { ring: ['a', 'b'], region: ['eu'] },
        matchExpressions: [{ key: '$version', operator: 'VersionGte', values: ['0.0.1'] }],
      };
      const answer = await change(tenant, { rollout: 25, status: 'paused', targets });
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toBe('application/json');
      expect(answer.body).toStrictEqual({
        release: {
          app: tenant.app,
          channel: 'stable',
          version: '1.0.0',
          rolloutPct: 25,
          status: 'paused',
          targets,
        },
      });
    });

    it('has targets null when there are none, and after null cleared them (§2.3)', async () => {
      const tenant = await withRelease();
      expect(releaseOf(await change(tenant, { rollout: 100 })).targets).toBeNull();
      await change(tenant, { targets: { matchLabels: { ring: ['a'] } } });
      expect(releaseOf(await change(tenant, { targets: null })).targets).toBeNull();
    });

    it.each([
      [{}, { matchLabels: {}, matchExpressions: [] }],
      [{ matchLabels: { a: ['1'] } }, { matchLabels: { a: ['1'] }, matchExpressions: [] }],
      [
        { matchExpressions: [{ key: 'a', operator: 'Exists' }] },
        { matchLabels: {}, matchExpressions: [{ key: 'a', operator: 'Exists', values: [] }] },
      ],
    ])('left-out parts of a targeting object are empty: %j', async (targets, whole) => {
      const tenant = await withRelease();
      expect(releaseOf(await change(tenant, { targets })).targets).toStrictEqual(whole);
    });

    it('names the app by its ref when it was addressed by its id', async () => {
      const tenant = await withRelease();
      const answer = await change(tenant, { app: tenant.appId, rollout: 10 });
      expect([answer.status, releaseOf(answer).app]).toEqual([200, tenant.app]);
    });

    it.each([
      ['v1.2', '1.2.0'],
      ['2026.1.15', '2026.01.15'],
      ['1.0.0-rc.1', 'V1-rc.01'],
    ])(
      'the release is found by canonical version, and is echoed as published: %s by %s',
      async (published, asked) => {
        const tenant = await createTenant(node);
        await publish(node, tenant, published);
        const answer = await control(node, tenant, asked, { rollout: 10 });
        expect([answer.status, releaseOf(answer).version]).toEqual([200, published]);
      },
    );

    it('only what the call names changes', async () => {
      const targets = { matchLabels: { ring: ['a'] }, matchExpressions: [] };
      const tenant = await withRelease({ rollout: 10, status: 'paused', targets });
      const start = { rolloutPct: 10, status: 'paused', targets };
      expect(releaseOf(await change(tenant, { rollout: 20 }))).toMatchObject({
        ...start,
        rolloutPct: 20,
      });
      expect(releaseOf(await change(tenant, { status: 'published' }))).toMatchObject({
        rolloutPct: 20,
        status: 'published',
        targets,
      });
      expect(releaseOf(await change(tenant, { targets: null }))).toMatchObject({
        rolloutPct: 20,
        status: 'published',
        targets: null,
      });
    });

    it('is the same for the same call made twice', async () => {
      const tenant = await withRelease();
      const parts = { rollout: 30, status: 'paused', targets: { matchLabels: { a: ['1'] } } };
      const first = await change(tenant, parts);
      const second = await change(tenant, parts);
      expect([second.status, second.body]).toStrictEqual([200, first.body]);
    });
  });

  describe('what is not found is 404 (§4.3)', () => {
    it.each([
      ['app', { app: 'unknown' }, 'Unknown app'],
      ['channel', { channel: 'nightly' }, 'Unknown channel'],
      ['release', { version: '1.0.1' }, 'Unknown release'],
      ['release of another channel', { channel: 'beta' }, 'Unknown release'],
      ['build of a release', { version: '1.0.0+1' }, 'Unknown release'],
    ])('an unknown %s', async (_, parts, message) => {
      const tenant = await withRelease();
      expectError(await change(tenant, { rollout: 10, ...parts }), 404, message);
    });

    it("another organization's release, by ref and by id (§5.2)", async () => {
      const owner = await withRelease();
      const stranger = await createTenant(node);
      for (const app of [owner.app, owner.appId]) {
        const answer = await change(stranger, { app, status: 'rolled_back' });
        expectError(answer, 404, 'Unknown app');
      }
      expect(await stateOf(owner)).toMatchObject({ status: 'published' });
      expect(await audited(owner)).toEqual([]);
    });
  });

  describe('a body that is not valid is 400 (§4.3)', () => {
    it.each(['app', 'channel', 'version'])('a missing %s is named', async (field) => {
      const tenant = await withRelease();
      const answer = await change(tenant, { rollout: 10, [field]: undefined });
      expectError(answer, 400, `${field}: Required`);
    });

    it.each(['rolout', 'rolloutPct', 'target', 'notes', 'artifacts'])(
      'an unknown key is `%s: Unrecognized key`, and nothing is applied',
      async (key) => {
        const tenant = await withRelease();
        const answer = await refused(tenant, { rollout: 10, [key]: 10 });
        expectError(answer, 400, `${key}: Unrecognized key`);
      },
    );

    it('a call that names none of rollout, status and targets changes nothing', async () => {
      const tenant = await withRelease();
      const answer = await refused(tenant, {});
      expect(answer.status).toBe(400);
      expect(answer.body).toStrictEqual({
        error: expect.stringMatching(/rollout.*status.*targets/),
      });
    });

    it.each([-1, 101, 49.5, '50', null, true, [50]])('rollout %j', async (rollout) => {
      const tenant = await withRelease();
      const answer = await refused(tenant, { rollout });
      expect(answer.status).toBe(400);
      expect(errorOf(answer)).toMatch(/^rollout: ./);
    });

    it.each(['Published', 'draft', '', null, 1, ['paused']])('status %j', async (status) => {
      const tenant = await withRelease();
      const answer = await refused(tenant, { status });
      expect(answer.status).toBe(400);
      expect(errorOf(answer)).toMatch(/^status: ./);
    });

    it('a version that is none', async () => {
      const tenant = await withRelease();
      const answer = await control(node, tenant, 'latest', { rollout: 10 });
      expectError(answer, 400, 'version: Invalid version');
    });

    it('comes before 404, 409 and 422', async () => {
      const tenant = await withOffered();
      await change(tenant, { status: 'rolled_back' });
      const parts = { rollout: 1, status: 'published', rolout: 1 };
      expect((await change(tenant, parts)).status).toBe(400);
      expect((await change(tenant, { ...parts, app: 'unknown' })).status).toBe(400);
    });
  });

  describe('transitions of status (§3)', () => {
    const matrix = STATUSES.flatMap((from) => STATUSES.map((to) => [from, to] as const));

    it.each(matrix)('%s to %s', async (from, to) => {
      const tenant = await withRelease();
      expect((await change(tenant, { status: from })).status).toBe(200);
      if (from === 'rolled_back' && to !== 'rolled_back') {
        expectError(await refused(tenant, { status: to }), 409, CANNOT_BE_RESERVED);
        return;
      }
      const answer = await change(tenant, { status: to });
      expect([answer.status, releaseOf(answer).status]).toEqual([200, to]);
      expect(await stateOf(tenant)).toMatchObject({ status: to });
    });

    it.each(matrix)('%s to %s, after the release was offered', async (from, to) => {
      const tenant = await withOffered();
      expect((await change(tenant, { status: from })).status).toBe(200);
      const isAllowed = from !== 'rolled_back' || to === 'rolled_back';
      expect((await change(tenant, { status: to })).status).toBe(isAllowed ? 200 : 409);
    });

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
      const onIt = await check(node, tenant, '2.0.0');
      expect([onIt.status, onIt.body]).toMatchObject([
        200,
        { version: '1.1.0', allowDowngrade: true },
      ]);
      const below = await check(node, tenant, '1.0.0');
      expect([below.status, below.body?.version]).toEqual([200, '1.1.0']);
      expect(below.body).not.toHaveProperty('allowDowngrade');
    });

    it('deprecated: no longer served, and the next update is required for devices on it', async () => {
      const tenant = await withOffered();
      await change(tenant, { status: 'deprecated' });
      expect(await statusFor(tenant)).toBe(204);
      await publish(node, tenant, '1.1.0');
      const onIt = await check(node, tenant, '1.0.0');
      expect(onIt.body).toMatchObject({ version: '1.1.0', updateMode: 'required' });
      expect((await check(node, tenant, OLD)).body).toMatchObject({ updateMode: 'optional' });
    });

    it('deprecated is reversible', async () => {
      const tenant = await withOffered();
      await change(tenant, { status: 'deprecated' });
      await change(tenant, { status: 'published' });
      expect(await statusFor(tenant)).toBe(200);
      await publish(node, tenant, '1.1.0');
      const onIt = await check(node, tenant, '1.0.0');
      expect(onIt.body).toMatchObject({ version: '1.1.0', updateMode: 'optional' });
    });
  });

  describe('a rolled-back release', () => {
    it('cannot be re-served, alone or together with something else (409)', async () => {
      const tenant = await withRelease({ rollout: 10 });
      await change(tenant, { status: 'rolled_back' });
      for (const status of ['published', 'paused', 'deprecated']) {
        expectError(await refused(tenant, { status }), 409, CANNOT_BE_RESERVED);
        expectError(
          await refused(tenant, { status, rollout: 20, targets: null }),
          409,
          CANNOT_BE_RESERVED,
        );
      }
    });

    it('may be rolled back again (200), also with a wider rollout', async () => {
      const tenant = await withRelease({ rollout: 10 });
      await change(tenant, { status: 'rolled_back' });
      expect((await change(tenant, { status: 'rolled_back' })).status).toBe(200);
      const answer = await change(tenant, { status: 'rolled_back', rollout: 20 });
      expect([answer.status, releaseOf(answer).rolloutPct]).toEqual([200, 20]);
    });

    it('takes rollout and targets alone, which follow the invariants: never offered', async () => {
      const tenant = await withRelease({ rollout: 50 });
      await change(tenant, { status: 'rolled_back' });
      const parts = { rollout: 10, targets: { matchLabels: { ring: ['a'] } } };
      const answer = await change(tenant, parts);
      expect([answer.status, releaseOf(answer)]).toMatchObject([
        200,
        { rolloutPct: 10, status: 'rolled_back' },
      ]);
    });

    it('takes rollout and targets alone, which follow the invariants: offered', async () => {
      const tenant = await withOffered({ rollout: 50 });
      await change(tenant, { status: 'rolled_back' });
      expect((await refused(tenant, { rollout: 49 })).status).toBe(422);
      const narrow = { targets: { matchLabels: { ring: ['a'] } } };
      expect((await refused(tenant, narrow)).status).toBe(422);
      expect((await change(tenant, { rollout: 51 })).status).toBe(200);
    });
  });

  describe('before the first offer everything may change (§3.6)', () => {
    it('the rollout may fall', async () => {
      const tenant = await withRelease({ rollout: 50 });
      for (const rollout of [20, 0, 100, 1]) {
        const answer = await change(tenant, { rollout });
        expect([answer.status, releaseOf(answer).rolloutPct]).toEqual([200, rollout]);
      }
    });

    it('targets may narrow, and expressions change', async () => {
      const tenant = await withRelease({ targets: { matchLabels: { ring: ['a', 'b'] } } });
      for (const targets of [
        { matchLabels: { ring: ['a'] } },
        { matchLabels: { ring: ['c'], tier: ['x'] } },
        { matchExpressions: [{ key: 'a', operator: 'Exists' }] },
        { matchExpressions: [{ key: 'b', operator: 'In', values: ['1'] }] },
        null,
      ]) {
        expect((await change(tenant, { targets })).status).toBe(200);
      }
    });

    it('a check that was not answered with the release is no offer of it', async () => {
      const tenant = await withRelease({ rollout: 0, targets: { matchLabels: { ring: ['a'] } } });
      await publish(node, tenant, '0.5.0');
      expect((await check(node, tenant, OLD, { device: 'one' })).body?.version).toBe('0.5.0');
      expect((await change(tenant, { rollout: 50 })).status).toBe(200);
      expect((await change(tenant, { rollout: 10 })).status).toBe(200);
    });
  });

  describe('once offered, the rollout may only increase (§3.6, 422)', () => {
    it.each([
      [100, 99],
      [100, 0],
      [50, 49],
    ])('from %i to %i is refused', async (from, to) => {
      const tenant = await withOffered({ rollout: from });
      expectInvariant(await refused(tenant, { rollout: to }), from);
    });

    it.each([
      [50, 50],
      [50, 51],
      [50, 100],
      [100, 100],
    ])('from %i to %i is done', async (from, to) => {
      const tenant = await withOffered({ rollout: from });
      const answer = await change(tenant, { rollout: to });
      expect([answer.status, releaseOf(answer).rolloutPct]).toEqual([200, to]);
    });

    it.each(['paused', 'deprecated'])('that holds while it is %s, too', async (status) => {
      const tenant = await withOffered();
      await change(tenant, { status });
      expectInvariant(await refused(tenant, { rollout: 50 }), 100);
      expectInvariant(await refused(tenant, { rollout: 50, status: 'published' }), 100);
    });

    it('a device in the cohort stays in it as the percentage rises (§3.8)', async () => {
      const tenant = await withRelease({ rollout: 20 });
      const devices = Array.from({ length: 40 }, (_, index) => `device-${index}`);
      let before: string[] = [];
      for (const rollout of [20, 50, 80, 100]) {
        await change(tenant, { rollout });
        const offered: string[] = [];
        for (const device of devices) {
          if ((await statusFor(tenant, { device })) === 200) offered.push(device);
        }
        expect(offered).toEqual(expect.arrayContaining(before));
        before = offered;
      }
      expect(before).toEqual(devices);
    });
  });

  describe('once offered, label targeting may only broaden (§3.6, 422)', () => {
    const everywhere = 'l.ring=a&l.tier=gold';

    it.each([
      ['a value more', { ring: ['a'] }, { ring: ['a', 'b'] }],
      ['other order', { ring: ['a', 'b'] }, { ring: ['b', 'a'] }],
      ['a value twice', { ring: ['a'] }, { ring: ['a', 'a'] }],
      ['the same', { ring: ['a'], tier: ['gold'] }, { tier: ['gold'], ring: ['a'] }],
      ['a key less', { ring: ['a'], tier: ['gold'] }, { tier: ['gold'] }],
      ['a key less, a value more', { ring: ['a'], tier: ['gold'] }, { ring: ['b', 'a'] }],
      ['no key left', { ring: ['a'] }, {}],
    ])('%s: done', async (_, before, after) => {
      const tenant = await withOffered({ targets: { matchLabels: before } }, everywhere);
      const answer = await change(tenant, { targets: { matchLabels: after } });
      expect([answer.status, releaseOf(answer).targets]).toStrictEqual([
        200,
        { matchLabels: after, matchExpressions: [] },
      ]);
    });

    it.each([
      ['a value less', { ring: ['a', 'b'] }, { ring: ['a'] }],
      ['another value', { ring: ['a'] }, { ring: ['b'] }],
      ['a value replaced', { ring: ['a', 'b'] }, { ring: ['a', 'c'] }],
      ['another key', { ring: ['a'] }, { tier: ['gold'] }],
      ['a key more', { ring: ['a'] }, { ring: ['a'], tier: ['gold'] }],
      ['a value more, a key more', { ring: ['a'] }, { ring: ['a', 'b'], tier: ['gold'] }],
      ['a first key', {}, { ring: ['a'] }],
      ['a key named like a built-in', { ring: ['a'] }, { ring: ['a'], constructor: ['x'] }],
    ])('%s: refused', async (_, before, after) => {
      const tenant = await withOffered({ targets: { matchLabels: before } }, everywhere);
      const answer = await refused(tenant, { targets: { matchLabels: after } });
      expectInvariant(answer, 100);
    });

    it('a release that targeted everybody cannot be targeted any more', async () => {
      const tenant = await withOffered();
      expectInvariant(await refused(tenant, { targets: { matchLabels: { ring: ['a'] } } }), 100);
      expect((await change(tenant, { targets: {} })).status).toBe(200);
      expect((await change(tenant, { targets: null })).status).toBe(200);
    });

    it('targets null is allowed when there were no matchExpressions', async () => {
      const tenant = await withOffered({ targets: { matchLabels: { ring: ['a'] } } }, everywhere);
      expect((await change(tenant, { targets: null })).status).toBe(200);
      expect(await statusFor(tenant)).toBe(200);
    });
  });

  describe('once offered, matchExpressions are frozen (§3.6, 422)', () => {
    const first = { key: '$platform', operator: 'In', values: ['linux', 'windows'] };
    const second = { key: 'ring', operator: 'NotIn', values: ['b', 'c', 'd'] };
    const targets = { matchLabels: { ring: ['a'] }, matchExpressions: [first, second] };
    const turned = { ...first, values: ['windows', 'linux'] };

    it.each([
      ['one left out', [first]],
      ['all left out', []],
      ['one more', [first, second, { key: 'x', operator: 'DoesNotExist', values: [] }]],
      ['a value more', [{ ...first, values: ['linux', 'windows', 'darwin'] }, second]],
      ['a value less', [first, { ...second, values: ['b', 'c'] }]],
      ['another operator', [first, { ...second, operator: 'In' }]],
      ['another key', [first, { ...second, key: 'rings' }]],
    ])('%s: refused', async (_, matchExpressions) => {
      const tenant = await withOffered({ targets }, 'l.ring=a');
      const answer = await refused(tenant, { targets: { ...targets, matchExpressions } });
      expectInvariant(answer, 100);
      expect(errorOf(answer)).toMatch(/matchExpressions/);
    });

    it.each([
      ['null', null],
      ['an empty object', {}],
      ['an object that leaves them out', { matchLabels: { ring: ['a'] } }],
    ])('%s: refused', async (_, to) => {
      const tenant = await withOffered({ targets }, 'l.ring=a');
      expectInvariant(await refused(tenant, { targets: to }), 100);
    });

    it.each([
      ['the same', [first, second]],
      ['in another order', [second, first]],
      ['with their values in another order', [turned, second]],
      ['with one written twice', [first, second, turned]],
    ])('%s: no change (compared as a set)', async (_, matchExpressions) => {
      const tenant = await withOffered({ targets }, 'l.ring=a');
      const answer = await change(tenant, { targets: { ...targets, matchExpressions } });
      expect(answer.status).toBe(200);
    });

    it('labels may broaden beside them', async () => {
      const tenant = await withOffered({ targets }, 'l.ring=a');
      const wider = { ...targets, matchLabels: {} };
      const answer = await change(tenant, { targets: wider });
      expect([answer.status, releaseOf(answer).targets]).toStrictEqual([200, wider]);
    });
  });

  describe('one call is atomic, in the order targets, rollout, status (§3.7)', () => {
    const narrow = { matchLabels: { ring: ['a'] } };

    it('refused targets refuse the rollout and the status with them', async () => {
      const tenant = await withOffered({ rollout: 50 });
      const answer = await refused(tenant, { targets: narrow, rollout: 60, status: 'paused' });
      expectInvariant(answer, 50);
    });

    it('a refused rollout refuses the targets and the status with it', async () => {
      const tenant = await withOffered({ rollout: 50, targets: narrow }, 'l.ring=a');
      const answer = await refused(tenant, { targets: null, rollout: 40, status: 'paused' });
      expectInvariant(answer, 50);
    });

    it('a refused status refuses the targets and the rollout with it', async () => {
      const tenant = await withRelease({ rollout: 50 });
      await change(tenant, { status: 'rolled_back' });
      const parts = { targets: narrow, rollout: 60, status: 'published' };
      expectError(await refused(tenant, parts), 409, CANNOT_BE_RESERVED);
    });

    it('the first refusal is the answer: targets before rollout', async () => {
      const tenant = await withOffered();
      const targetsAlone = await refused(tenant, { targets: narrow });
      const both = await refused(tenant, { targets: narrow, rollout: 10 });
      const rolloutAlone = await refused(tenant, { rollout: 10 });
      expect(both.body).toStrictEqual(targetsAlone.body);
      expect(both.body).not.toStrictEqual(rolloutAlone.body);
    });

    it('the first refusal is the answer: rollout (422) before status (409)', async () => {
      const tenant = await withOffered();
      await change(tenant, { status: 'rolled_back' });
      expect((await refused(tenant, { rollout: 10, status: 'published' })).status).toBe(422);
      expect((await refused(tenant, { targets: narrow, status: 'published' })).status).toBe(422);
      expect((await refused(tenant, { rollout: 100, status: 'published' })).status).toBe(409);
    });

    it('a refused call leaves what devices get as it was', async () => {
      const tenant = await withOffered();
      await refused(tenant, { targets: narrow, status: 'paused' });
      expect(await statusFor(tenant)).toBe(200);
    });
  });

  describe('targeting that could mislead is 400 when it is set, with the path', () => {
    const one = (expression: Json) => ({ matchExpressions: [expression] });
    const expressionPath = 'targets.matchExpressions.0';

    it.each<[string, unknown, string]>([
      [
        'VersionGte on a label',
        one({ key: 'ring', operator: 'VersionGte', values: ['1.0.0'] }),
        `${expressionPath}.key`,
      ],
      [
        'VersionLt on another reserved field',
        one({ key: '$platform', operator: 'VersionLt', values: ['1.0.0'] }),
        `${expressionPath}.key`,
      ],
      [
        'VersionGte without a version',
        one({ key: '$version', operator: 'VersionGte', values: [] }),
        `${expressionPath}.values`,
      ],
      [
        'VersionLt whose values are left out',
        one({ key: '$version', operator: 'VersionLt' }),
        `${expressionPath}.values`,
      ],
      [
        'VersionLt with two versions',
        one({ key: '$version', operator: 'VersionLt', values: ['1.0.0', '2.0.0'] }),
        `${expressionPath}.values`,
      ],
      [
        'VersionGte with no valid version',
        one({ key: '$version', operator: 'VersionGte', values: ['latest'] }),
        `${expressionPath}.values`,
      ],
      [
        'an unknown $ key',
        one({ key: '$os', operator: 'In', values: ['linux'] }),
        `${expressionPath}.key`,
      ],
      [
        'an unknown $ key with Exists',
        one({ key: '$', operator: 'Exists' }),
        `${expressionPath}.key`,
      ],
      [
        'In with no values',
        one({ key: 'a', operator: 'In', values: [] }),
        `${expressionPath}.values`,
      ],
      ['In without values', one({ key: 'a', operator: 'In' }), `${expressionPath}.values`],
      [
        'NotIn with no values',
        one({ key: 'a', operator: 'NotIn', values: [] }),
        `${expressionPath}.values`,
      ],
      [
        'values for Exists',
        one({ key: 'a', operator: 'Exists', values: ['x'] }),
        `${expressionPath}.values`,
      ],
      [
        'values for DoesNotExist',
        one({ key: 'a', operator: 'DoesNotExist', values: ['x'] }),
        `${expressionPath}.values`,
      ],
      [
        'an unknown operator',
        one({ key: 'a', operator: 'in', values: ['x'] }),
        `${expressionPath}.operator`,
      ],
      ['no operator', one({ key: 'a', values: ['x'] }), `${expressionPath}.operator`],
      ['no key', one({ operator: 'Exists' }), `${expressionPath}.key`],
      ['an empty key', one({ key: '', operator: 'Exists' }), `${expressionPath}.key`],
      [
        'a value that is no text',
        one({ key: 'a', operator: 'In', values: ['x', 1] }),
        `${expressionPath}.values.1`,
      ],
      [
        'an unknown key in an expression',
        one({ key: 'a', operator: 'Exists', value: 'x' }),
        `${expressionPath}.value`,
      ],
      [
        'the second expression',
        {
          matchExpressions: [
            { key: 'a', operator: 'Exists' },
            { key: '$x', operator: 'Exists' },
          ],
        },
        'targets.matchExpressions.1.key',
      ],
      ['an expression that is none', { matchExpressions: ['ring'] }, expressionPath],
      ['expressions that are no list', { matchExpressions: {} }, 'targets.matchExpressions'],
      ['expressions null', { matchExpressions: null }, 'targets.matchExpressions'],
      [
        'a $ key in matchLabels',
        { matchLabels: { $platform: ['linux'] } },
        'targets.matchLabels.$platform',
      ],
      ['any $ key in matchLabels', { matchLabels: { $x: ['a'] } }, 'targets.matchLabels.$x'],
      ['an empty label key', { matchLabels: { '': ['a'] } }, 'targets.matchLabels.'],
      ['an empty value list', { matchLabels: { ring: [] } }, 'targets.matchLabels.ring'],
      ['one value instead of a list', { matchLabels: { ring: 'a' } }, 'targets.matchLabels.ring'],
      ['a label value null', { matchLabels: { ring: null } }, 'targets.matchLabels.ring'],
      ['a label value that is no text', { matchLabels: { ring: [1] } }, 'targets.matchLabels.ring'],
      ['labels that are a list', { matchLabels: ['ring'] }, 'targets.matchLabels'],
      ['labels null', { matchLabels: null }, 'targets.matchLabels'],
      ['an unknown part', { matchLabel: {} }, 'targets.matchLabel'],
      ['a list', [], 'targets'],
      ['a text', 'everybody', 'targets'],
      ['false', false, 'targets'],
    ])('%s', async (_, targets, path) => {
      const tenant = await withRelease();
      const answer = await refused(tenant, { targets });
      expect(answer.status).toBe(400);
      expect(errorOf(answer)).toMatch(/: ./);
      expect(errorOf(answer).startsWith(`${path}: `), errorOf(answer)).toBe(true);
    });

    it('the same is refused at publish', async () => {
      const tenant = await createTenant(node);
      const targets = { matchLabels: { $platform: ['linux'] } };
      const answer = await publish(node, tenant, '1.0.0', { targets });
      expect(answer.status).toBe(400);
      expect(errorOf(answer)).toMatch(/^targets\.matchLabels\.\$platform: ./);
    });

    it('every operator and reserved field of the contract is accepted (§2.3.2)', async () => {
      const tenant = await withRelease();
      const targets = {
        matchLabels: { ring: ['a', ''] },
        matchExpressions: [
          { key: '$platform', operator: 'In', values: ['linux'] },
          { key: '$arch', operator: 'NotIn', values: ['arm64'] },
          { key: '$version', operator: 'VersionGte', values: ['v0.1'] },
          { key: '$version', operator: 'VersionLt', values: ['2'] },
          { key: '$version', operator: 'Exists', values: [] },
          { key: 'kiosk', operator: 'DoesNotExist', values: [] },
        ],
      };
      const answer = await change(tenant, { targets });
      expect([answer.status, releaseOf(answer).targets]).toStrictEqual([200, targets]);
      expect(await statusFor(tenant, { query: 'l.ring=a' })).toBe(200);
      expect(await statusFor(tenant, { query: 'l.ring=a&l.kiosk=1' })).toBe(204);
    });

    // An object that is built key by key loses such a key: the rule would be gone, and all devices offered
    // the release.
    it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
      'a label key named %s stays a rule',
      async (key) => {
        const tenant = await withRelease();
        const address = `"app":"${tenant.app}","channel":"stable","version":"1.0.0"`;
        const answer = await send(node, 'PATCH', '/api/v1/releases', {
          body: `{${address},"targets":{"matchLabels":{"${key}":["x"]}}}`,
          headers: { authorization: `Bearer ${tenant.secret}` },
        });
        expect(answer.status).toBe(200);
        expect(answer.text).toContain(`"matchLabels":{"${key}":["x"]}`);
        expect(await statusFor(tenant)).toBe(204);
        expect(await statusFor(tenant, { query: `l.${key}=y` })).toBe(204);
        expect(await statusFor(tenant, { query: `l.${key}=x` })).toBe(200);
      },
    );
  });

  describe('the audit', () => {
    it('says who changed what, from what to what, and when', async () => {
      const tenant = await withRelease({ rollout: 10 });
      const targets = { matchLabels: { ring: ['a'] }, matchExpressions: [] };
      const before = Date.now();
      await control(node, tenant, 'v1.0', { rollout: 20, status: 'paused', targets });
      const after = Date.now();
      const [entry, ...others] = await audited(tenant);
      expect(others).toEqual([]);
      expect(entry).toStrictEqual({
        id: expect.any(String),
        at: expect.stringMatching(TIMESTAMP),
        actor: expect.stringContaining(tenant.keyId),
        action: 'release.serve',
        subject: `${tenant.app}/stable@1.0.0`,
        before: { rolloutPct: 10, status: 'published', targets: null },
        after: { rolloutPct: 20, status: 'paused', targets },
        requestId: expect.any(String),
        reason: null,
      });
      const at = Date.parse(String(entry?.at));
      expect(at).toBeGreaterThanOrEqual(before - 1);
      expect(at).toBeLessThanOrEqual(after + 1);
    });

    it('has every change, in order: each begins where the one before ended', async () => {
      const tenant = await withRelease();
      const parts = [
        { rollout: 10 },
        { status: 'paused' },
        { rollout: 20 },
        { status: 'published' },
      ];
      for (const part of parts) await change(tenant, part);
      const entries = (await audited(tenant)).reverse();
      expect(entries).toHaveLength(parts.length);
      expectChain(entries);
    });
  });

  describe('calls at the same time', () => {
    const rounds = Array.from({ length: 5 }, (_, index) => index);

    it('both are applied whole, one after the other', async () => {
      for (const _ of rounds) {
        const tenant = await withRelease();
        const calls = [
          { rollout: 40, status: 'paused', targets: { matchLabels: { ring: ['a'] } } },
          { rollout: 60, status: 'deprecated', targets: { matchLabels: { ring: ['b'] } } },
        ];
        const answers = await Promise.all(calls.map((parts) => change(tenant, parts)));
        expect(answers.map(({ status }) => status)).toEqual([200, 200]);
        const entries = (await audited(tenant)).reverse();
        expect(entries).toHaveLength(2);
        expectChain(entries);
        const state = await stateOf(tenant);
        expect(answers.map(releaseOf)).toContainEqual(state);
        expect(state).toMatchObject(entries[1]?.after as Json);
      }
    });

    it('raises of an offered release: it ends at the highest, and never fell', async () => {
      for (const _ of rounds) {
        const tenant = await withOffered({ rollout: 30 });
        const wanted = [40, 80, 60];
        const answers = await Promise.all(wanted.map((rollout) => change(tenant, { rollout })));
        for (const { status } of answers) expect([200, 422]).toContain(status);
        expect(await stateOf(tenant)).toMatchObject({ rolloutPct: 80 });
        const steps = (await audited(tenant))
          .reverse()
          .map(({ after }) => (after as Json).rolloutPct);
        expect(steps).toEqual([...steps].sort((a, b) => Number(a) - Number(b)));
        expectChain((await audited(tenant)).reverse());
      }
    });

    it('a rollback and a resume: it ends rolled back, in either order', async () => {
      for (const _ of rounds) {
        const tenant = await withRelease();
        await change(tenant, { status: 'paused' });
        const [rollback, resume] = await Promise.all([
          change(tenant, { status: 'rolled_back' }),
          change(tenant, { status: 'published' }),
        ]);
        expect(rollback?.status).toBe(200);
        expect([200, 409]).toContain(resume?.status);
        expect(await stateOf(tenant)).toMatchObject({ status: 'rolled_back' });
        expect(await statusFor(tenant)).toBe(204);
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
});

function releaseOf(answer: Answer): Json {
  return (answer.body?.release ?? {}) as Json;
}

function errorOf(answer: Answer): string {
  return String(answer.body?.error);
}

/**
 * Expects a 422 that states the offered percentage, that the rollout can only increase and label targeting
 * only broaden, and that suggests pause and rollback (§14.9).
 */
function expectInvariant(answer: Answer, offeredPct: number): void {
  expect([answer.status, answer.body]).toStrictEqual([422, { error: expect.stringMatching(/./) }]);
  expect(errorOf(answer)).toMatch(new RegExp(`\\b${offeredPct} ?%`));
  expect(errorOf(answer)).toMatch(/rollout can only increase/);
  expect(errorOf(answer)).toMatch(/label targeting can only broaden/);
  expect(errorOf(answer)).toMatch(/pause/i);
  expect(errorOf(answer)).toMatch(/roll (it )?back|rollback/i);
}

/** Expects entries, oldest first, each to begin with the state that the one before it left. */
function expectChain(entries: Json[]): void {
  for (const [index, entry] of entries.slice(1).entries()) {
    expect(entry.before).toStrictEqual(entries[index]?.after);
  }
}
