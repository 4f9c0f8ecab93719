// Tests serving control over HTTP: what is answered and audited, what devices get then, and that a call is
// applied whole or not at all (docs/contract.md 3, 4.3 and 14). All transitions and invariants are tested in
// test/domain/release/serving-change.test.ts and broadening.test.ts, what devices get by status and targeting
// in test/domain/decision/decide.test.ts, the fields of the body in test/http/release-body.test.ts, calls at
// the same time in test/store/ledger/serving-contract.ts and test/faults/races.test.ts.

import { expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import { expectChain, expectWithin } from '../support/published.ts';
import { serviceSuite, suiteTenant } from '../support/service-suite.ts';
import { type CheckOptions, type Json, releaseOf, type Tenant } from '../support/tenant.ts';

const OLD = '0.1.0';
const RING_A = { matchLabels: { ring: ['a'] }, matchExpressions: [] };

serviceSuite('serving control', (node) => {
  const tenant = suiteTenant(node);

  /** Another app of the tenant, with 1.0.0 on stable. */
  const withRelease = (more: Json = {}) => tenant.anotherApp(['1.0.0', more]);

  /** Returns the serving state of 1.0.0. A call that changes nothing is the only way to read the targets. */
  async function stateOf(of: Tenant): Promise<Json> {
    const [release] = await of.releases(`app=${of.app}&channel=stable&version=1.0.0`);
    const answer = await of.control('1.0.0', { status: release?.status });
    expect(answer.status).toBe(200);
    return releaseOf(answer);
  }

  /** Returns the app's serving-control entries of the audit, oldest first. */
  async function audited(of: Tenant): Promise<Json[]> {
    const entries = await of.audit('action=release.serve&limit=1000');
    return entries.filter(({ subject }) => String(subject).startsWith(`${of.app}/`)).reverse();
  }

  async function offerTo(of: Tenant, version = OLD, options: CheckOptions = {}) {
    const { status, body } = await of.check(version, options);
    expect([200, 204]).toContain(status);
    return body;
  }

  /** Makes a call that must be refused, and must change neither the release nor the audit. */
  async function refused(of: Tenant, parts: Json, status: number, error: unknown): Promise<void> {
    const before = [await stateOf(of), await audited(of)];
    expectError(await of.control('1.0.0', parts), status, error);
    expect([await stateOf(of), await audited(of)]).toStrictEqual(before);
  }

  it("the answer is 200 with exactly the contract's fields, and the same for the same call; it changes only what the call names (§2.3, §4.3)", async () => {
    const made = await withRelease();
    const matchExpressions = [{ key: '$version', operator: 'VersionGte', values: ['0.0.1'] }];
    // A key that an object which is built key by key would lose.
    const matchLabels = JSON.parse('{"ring":["a","b"],"__proto__":["x"]}') as object;
    const targets = { matchLabels, matchExpressions };
    const name = { app: made.app, channel: 'stable', version: '1.0.0' };
    const state: Json = { ...name, rolloutPct: 25, status: 'paused', targets };
    for (const app of [made.app, made.appId]) {
      const answer = await made.control('1.0.0', { app, rollout: 25, status: 'paused', targets });
      expect([answer.status, answer.body]).toStrictEqual([200, { release: state }]);
      expect(answer.headers.get('content-type')).toBe('application/json');
      expect(answer.text).toContain('"matchLabels":{"ring":["a","b"],"__proto__":["x"]}');
    }
    for (const [call, told] of [
      [{ rollout: 20 }, { rolloutPct: 20 }],
      [{ status: 'published' }, { status: 'published' }],
      [{ targets: null }, { targets: null }],
      [{ targets: {} }, { targets: { matchLabels: {}, matchExpressions: [] } }],
    ]) {
      Object.assign(state, told);
      expect(releaseOf(await made.control('1.0.0', call ?? {}))).toStrictEqual(state);
    }
  });

  it('a body that is not valid is 400, before all else, and what is not found 404 (§4.3)', async () => {
    const made = await withRelease();
    for (const [parts, status, error] of [
      [{ app: 'unknown', rolout: 10 }, 400, 'rolout: Unrecognized key'],
      [{ rollout: 10, app: 'unknown' }, 404, 'Unknown app'],
      [{ rollout: 10, channel: 'nightly' }, 404, 'Unknown channel'],
      [{ rollout: 10, version: '1.0.0+1' }, 404, 'Unknown release'],
      [{ rollout: 10, channel: 'beta' }, 404, 'Unknown release'],
    ] as const) {
      await refused(made, parts, status, error);
    }
    expect(await stateOf(made)).toMatchObject({ status: 'published' });
    expect(await audited(made)).toEqual([]);
  });

  it('targeting and status decide the next check; a check that was answered otherwise is no offer; rolled_back is permanent (§3, §3.6, §4.3)', async () => {
    const made = await withRelease({ targets: RING_A });
    const versionFor = async (ring: string) =>
      (await offerTo(made, OLD, { query: `l.ring=${ring}` }))?.version;
    expect(await versionFor('b')).toBeUndefined();
    expect((await made.control('1.0.0', { rollout: 10 })).status).toBe(200);
    const wider = { ...RING_A, matchLabels: { ring: ['b', 'a'] } };
    for (const [targets, ring] of [[wider, 'b'] as const, [null, 'c'] as const]) {
      expect((await made.control('1.0.0', { rollout: 100, targets })).status).toBe(200);
      expect(await versionFor(ring)).toBe('1.0.0');
    }
    for (const status of ['paused', 'published', 'deprecated', 'published', 'rolled_back']) {
      await made.control('1.0.0', { status });
      expect(await versionFor('a')).toBe(status === 'published' ? '1.0.0' : undefined);
    }
    for (const more of [{}, { rollout: 100, targets: null }]) {
      const call = { status: 'paused', ...more };
      await refused(made, call, 409, 'A rolled-back release cannot be re-served');
    }
    expect((await made.control('1.0.0', { status: 'rolled_back', rollout: 100 })).status).toBe(200);
  });

  it('deprecated, it requires the next update of its devices, until it is published again (§3)', async () => {
    const made = await tenant.anotherApp(['1.0.0'], ['1.1.0']);
    for (const [status, updateMode] of [
      ['deprecated', 'required'],
      ['published', 'optional'],
    ]) {
      await made.control('1.0.0', { status });
      expect(await offerTo(made, '1.0.0')).toMatchObject({ version: '1.1.0', updateMode });
    }
  });

  it('once offered, serving only widens: 422 refuses the whole call, and devices get what they got (§3.6, §3.7, §14.9)', async () => {
    const made = await withRelease({ rollout: 50 });
    const ids = Array.from({ length: 30 }, (_, serial) => `device-${serial}`);
    const offers = () => Promise.all(ids.map((device) => offerTo(made, OLD, { device })));
    const before = await offers();
    expect(before.filter((each) => each === undefined).length).toBeLessThan(30);
    const narrowing = expect.stringMatching(
      /\b50%: the rollout can only increase and label targeting can only broaden\. .*pause.*rollback/,
    );
    const lower = { targets: null, rollout: 49, status: 'paused' };
    for (const parts of [{ rollout: 49 }, lower, { targets: RING_A, rollout: 60 }]) {
      await refused(made, parts, 422, narrowing);
    }
    expect(await offers()).toEqual(before);
    for (const rollout of [50, 51, 100]) {
      expect(releaseOf(await made.control('1.0.0', { rollout })).rolloutPct).toBe(rollout);
    }
  });

  it('the audit says who changed what, from what to what, and when', async () => {
    const made = await withRelease({ rollout: 10 });
    const before = Date.now();
    const first = { rollout: 20, status: 'paused', targets: RING_A };
    // The call names the version in another spelling.
    expect(releaseOf(await made.control('v1.0', first)).version).toBe('1.0.0');
    const after = Date.now();
    await made.control('1.0.0', { rollout: 30 });
    const entries = await audited(made);
    expectChain(entries);
    expect(entries).toStrictEqual([
      {
        ...{ id: expect.any(String), at: expect.any(String), requestId: expect.any(String) },
        ...{ actor: expect.stringContaining(made.keyId), action: 'release.serve', reason: null },
        subject: `${made.app}/stable@1.0.0`,
        before: { rolloutPct: 10, status: 'published', targets: null },
        after: { rolloutPct: 20, status: 'paused', targets: RING_A },
      },
      expect.anything(),
    ]);
    expectWithin(entries[0]?.at, before, after);
  });
});
