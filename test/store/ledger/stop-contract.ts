// Rules of stops in the ledger port: what one pauses, what its end publishes, and what it leaves alone. Who
// may do it, and what devices get, is tested over HTTP (test/service/stop-releases.test.ts).

import { expect, test } from 'vitest';
import { fail } from '../../../src/contract/failure.ts';
import type { ReleaseStatus } from '../../../src/contract/resource.ts';
import type { Serving } from '../../../src/domain/release/serving-change.ts';
import { FollowersNotAsked } from '../../../src/store/ledger-terms.ts';
import { definition } from '../../domain/rollout/plan-fixture.ts';
import { createTenant, expectValue, PUBLISHER, type TestTenant } from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

export function describeStops({ ledger }: LedgerUnderTest): void {
  /** A tenant with 1.0.0 and 1.1.0 on stable, and 2.0.0 on beta, which follows stable. */
  async function furnish(): Promise<TestTenant> {
    const tenant = await createTenant(ledger, ['stable', 'beta']);
    await tenant.release('1.0.0');
    await tenant.release('1.1.0', { rolloutPct: 20 });
    await tenant.release('2.0.0', { channel: 'beta' });
    await tenant.release('0.9.0', { status: 'paused' });
    await tenant.setChannel({ follows: 'stable' }, 'beta');
    return tenant;
  }

  async function stop({ organizationId, app }: TestTenant, channel?: string, reason?: string) {
    const input = { app, channel };
    return expectValue(
      await ledger.stopReleases({ scope: organizationId, input, actor: PUBLISHER, reason }),
    );
  }

  async function resume({ organizationId }: TestTenant, id: string) {
    return expectValue(
      await ledger.resumeStop({ scope: organizationId, input: { stop: id }, actor: PUBLISHER }),
    ).value;
  }

  async function statusesOf(tenant: TestTenant): Promise<Readonly<Record<string, ReleaseStatus>>> {
    const filter = { app: tenant.app, channel: undefined, page: 1, perPage: 100 };
    const { releases } = await ledger.listReleases(tenant.organizationId, filter);
    return Object.fromEntries(releases.map(({ version, status }) => [version, status]));
  }

  test('a stop pauses all that is published, each with its entry, and moves every channel once', async () => {
    const tenant = await furnish();
    const { value, changed } = await stop(tenant, undefined, 'they crash');
    expect(value.releases).toEqual([
      { channel: 'beta', version: '2.0.0' },
      { channel: 'stable', version: '1.0.0' },
      { channel: 'stable', version: '1.1.0' },
    ]);
    expect(await statusesOf(tenant)).toEqual({
      ...{ '0.9.0': 'paused', '1.0.0': 'paused', '1.1.0': 'paused', '2.0.0': 'paused' },
    });
    expect(changed.map(({ channel }) => channel).sort()).toEqual(['beta', 'stable']);
    const entries = (await tenant.audit()).slice(0, 3).reverse();
    expect(entries).toMatchObject(
      value.releases.map(({ channel, version }) => ({
        action: 'release.serve',
        subject: `${tenant.app}/${channel}@${version}`,
        before: { status: 'published' },
        after: { status: 'paused', stop: value.id },
        reason: 'they crash',
      })),
    );
  });

  test('a stop of one channel leaves the others, and tells the followers', async () => {
    const tenant = await furnish();
    const { value, changed } = await stop(tenant, 'stable');
    expect(value.releases.map(({ version }) => version)).toEqual(['1.0.0', '1.1.0']);
    expect(changed.map(({ channel }) => channel).sort()).toEqual(['beta', 'stable']);
    expect(await statusesOf(tenant)).toMatchObject({ '2.0.0': 'published' });
  });

  test('of nothing published the list is empty, and nothing is audited', async () => {
    const tenant = await createTenant(ledger);
    const before = await tenant.audit();
    const { value, changed } = await stop(tenant);
    expect([value.releases, changed]).toEqual([[], []]);
    expect(await tenant.audit()).toEqual(before);
    expect(await resume(tenant, value.id)).toEqual({ released: [], changed: [] });
  });

  test('plans are held, and stay so after the resumption', async () => {
    const tenant = await furnish();
    const name = { app: tenant.app, channel: 'stable', canonicalVersion: '1.1.0' };
    const { organizationId: scope } = tenant;
    const input = { ...name, definition: definition('100:0') };
    expectValue(await ledger.createPlan({ scope, input, actor: PUBLISHER }));
    const { value } = await stop(tenant);
    const status = async () => expectValue(await ledger.readPlan(scope, name)).plan.status;
    expect(await status()).toBe('held');
    await resume(tenant, value.id);
    expect(await status()).toBe('held');
    expect(await statusesOf(tenant)).toMatchObject({ '1.1.0': 'published' });
  });

  test('the resumption publishes at the present rollout, and a second one publishes nothing', async () => {
    const tenant = await furnish();
    const { value } = await stop(tenant);
    await tenant.serve('1.1.0', { rollout: 50 });
    const { released, changed } = await resume(tenant, value.id);
    expect([released, changed]).toEqual([value.releases, []]);
    const entry = (await tenant.audit()).find(({ subject }) => subject.endsWith('1.1.0'));
    expect(entry).toMatchObject({
      before: { status: 'paused', rolloutPct: 50 },
      after: { status: 'published', rolloutPct: 50, stop: value.id },
    });
    await tenant.serve('1.0.0', { status: 'paused' });
    expect(await resume(tenant, value.id)).toEqual({
      released: [],
      changed: value.releases.map((each) => ({ ...each, reason: 'It was resumed before' })),
    });
    expect(await statusesOf(tenant)).toMatchObject({ '1.0.0': 'paused' });
  });

  test('what somebody has decided since stays as it is, also where it was decided to be paused', async () => {
    const tenant = await furnish();
    const { value } = await stop(tenant);
    await tenant.serve('1.0.0', { status: 'rolled_back' });
    const again = (serving: Serving) => ({ ...serving, isStatusSet: true });
    await tenant.serve('1.1.0', again);
    await tenant.withdraw('2.0.0', 'beta');
    const set = 'Its status was set since: it is';
    expect(await resume(tenant, value.id)).toEqual({
      released: [],
      changed: [
        { channel: 'beta', version: '2.0.0', reason: 'It was withdrawn' },
        { channel: 'stable', version: '1.0.0', reason: `${set} rolled back` },
        { channel: 'stable', version: '1.1.0', reason: `${set} paused` },
      ],
    });
  });

  test('what is published after it is no part of it, and the next stop has no part of the first', async () => {
    const tenant = await furnish();
    const first = await stop(tenant);
    await tenant.release('3.0.0');
    expect(await statusesOf(tenant)).toMatchObject({ '3.0.0': 'published' });
    const second = await stop(tenant);
    expect(second.value.releases).toEqual([{ channel: 'stable', version: '3.0.0' }]);
    expect((await resume(tenant, first.value.id)).released).toEqual(first.value.releases);
    expect(await statusesOf(tenant)).toMatchObject({ '1.0.0': 'published', '3.0.0': 'paused' });
  });

  test('a stop beyond the scope is unknown, and so is what it names', async () => {
    const [tenant, stranger] = [await furnish(), await furnish()];
    const { id } = (await stop(tenant)).value;
    const { app, organizationId: own } = tenant;
    const others = [stranger.organizationId, { organizationId: own, appIds: [stranger.appId] }];
    for (const [scope, stopId, channel, failure] of [
      ...others.map((scope) => [scope, id, undefined, 'unknownApp'] as const),
      [own, 'stp_0', 'nightly', 'unknownChannel'],
    ] as const) {
      const [ended, made] = [{ stop: stopId }, { app, channel }];
      const resumed = ledger.resumeStop({ scope, input: ended, actor: PUBLISHER });
      expect(await resumed).toEqual(fail('unknownStop'));
      const stopped = ledger.stopReleases({ scope, input: made, actor: PUBLISHER });
      expect(await stopped).toEqual(fail(failure));
    }
  });

  test('it counts what a stop would reach: published releases, and devices of their followers too', async () => {
    const tenant = await furnish();
    const { appId } = tenant;
    expect(await ledger.measureStop(appId, undefined)).toEqual({ releases: 3, devices: 0 });
    expect(await ledger.measureStop(appId, 'beta')).toEqual({ releases: 1, devices: 0 });
    expect(await ledger.measureStop(appId, 'nightly')).toEqual(fail('unknownChannel'));
  });

  test('a stop of an app asks about all of its channels before it changes any', async () => {
    const tenant = await furnish();
    const { organizationId: scope, app } = tenant;
    const known = new Map([['stable', undefined]]);
    const input = { app, channel: undefined };
    const refusal = ledger.stopReleases({ scope, input, actor: PUBLISHER, known });
    await expect(refusal).rejects.toMatchObject({ channels: ['beta'] });
    await expect(refusal).rejects.toBeInstanceOf(FollowersNotAsked);
    expect(await statusesOf(tenant)).toMatchObject({ '1.0.0': 'published' });
  });

  test('stops, resumptions, raises and publishes at the same time wait for each other, and none is lost', async () => {
    for (let round = 0; round < 3; round++) {
      const tenant = await furnish();
      const before = await stop(tenant);
      const resumptions = [resume(tenant, before.value.id), resume(tenant, before.value.id)];
      const outcomes = await Promise.all([
        stop(tenant),
        stop(tenant, 'stable'),
        stop(tenant, 'beta'),
        ...resumptions,
        tenant.control('1.1.0', { rollout: 60 }),
        tenant.publish('4.0.0'),
      ]);
      const versionsOf = (list: readonly { version: string }[]) =>
        list.map(({ version }) => version);
      const first = (await Promise.all(resumptions)).flatMap(({ released }) =>
        versionsOf(released),
      );
      expect(first.sort()).toEqual(versionsOf(before.value.releases).sort());
      const stops = outcomes.slice(0, 3) as Awaited<ReturnType<typeof stop>>[];
      const stopped = stops.flatMap(({ value }) => versionsOf(value.releases)).sort();
      const present = await statusesOf(tenant);
      const paused = Object.keys(present).filter((version) => present[version] === 'paused');
      expect(paused.sort()).toEqual([...stopped, '0.9.0'].sort());
      const entries = await tenant.audit();
      const byStop = entries.filter(({ after }) => Object.hasOwn(after ?? {}, 'stop'));
      expect(byStop).toHaveLength(2 * before.value.releases.length + stopped.length);
      const resumed = await Promise.all(stops.map(({ value }) => resume(tenant, value.id)));
      const released = resumed.flatMap((each) => versionsOf(each.released));
      expect(released.sort()).toEqual(stopped);
    }
  });
}
