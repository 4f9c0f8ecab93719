// Tests dry runs of publishing and serving control over HTTP: what they tell, that they are refused as the
// call would be, and that they write nothing (docs/contract.md 23).

import { beforeEach, describe, expect, it } from 'vitest';
import type { Effect, Finding } from '../../src/contract/dry-run.ts';
import { eventually } from '../support/eventually.ts';
import { expectError } from '../support/expect-error.ts';
import { auditOf, type Json, releasesOf } from '../support/published.ts';
import { serviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  ARTIFACT,
  admin,
  check,
  control,
  createTenant,
  devicesOf,
  manage,
  publish,
  report,
  type Tenant,
} from '../support/tenant.ts';

serviceSuite('a dry run', (node) => {
  let tenant: Tenant;
  beforeEach(async () => {
    tenant = await createTenant(node);
  });

  function dryPublish(version: string, more: Json = {}, key = tenant): Promise<Answer> {
    const body = { app: tenant.app, channel: 'stable', version, artifacts: [ARTIFACT], ...more };
    return manage(node, key, 'POST', 'releases?dryRun=true', body);
  }

  function dryControl(version: string, change: Json): Promise<Answer> {
    const body = { app: tenant.app, channel: 'stable', version, ...change };
    return manage(node, tenant, 'PATCH', 'releases?dryRun=true', body);
  }

  const effectOf = ({ body }: Answer) => body?.effect as Effect;
  const findingsOf = ({ body }: Answer) => body?.findings as Finding[];

  /** Reports devices, and waits until they are on record. */
  async function withDevices(devices: readonly Json[]): Promise<void> {
    expect((await report(node, tenant, devices)).status).toBe(200);
    await eventually('they are on record', async () => {
      const { body } = await admin(node, 'GET', `fleet?app=${tenant.app}`);
      return body?.total === devices.length;
    });
  }

  function deviceOf(index: number, more: Json = {}): Json {
    const place = { platform: 'linux', arch: 'x86_64', channel: 'stable' };
    return { deviceId: `device-${index}`, version: '1.0.0', ...place, ...more };
  }

  describe('of publishing', () => {
    it('answers the release without id and time, the findings and the effect (§23.1)', async () => {
      await withDevices([deviceOf(1), deviceOf(2, { platform: 'windows' })]);
      const answer = await dryPublish('v1.1', { notes: 'New', rollout: 100 });
      expect(answer.status).toBe(200);
      expect(answer.body).toStrictEqual({
        release: {
          ...{ app: tenant.app, channel: 'stable', version: 'v1.1', notes: 'New' },
          ...{ status: 'published', rolloutPct: 100, artifacts: [ARTIFACT] },
        },
        findings: [],
        effect: {
          devices: 2,
          isEstimate: false,
          gain: 1,
          lose: 0,
          moves: [{ from: null, to: 'v1.1', devices: 1 }],
          platforms: expect.arrayContaining([
            { platform: 'linux', arch: 'x86_64', devices: 1, gain: 1, lose: 0, withoutArtifact: 0 },
            {
              ...{ platform: 'windows', arch: 'x86_64', devices: 1 },
              ...{ gain: 0, lose: 0, withoutArtifact: 1 },
            },
          ]),
          examples: { gain: ['device-1'], lose: [] },
        },
      });
    });

    it('writes nothing: no release, no audit entry, no revision, and the version stays free (§23.2)', async () => {
      await publish(node, tenant, '1.0.0');
      const state = async () => [await auditOf(node, tenant), await releasesOf(node, tenant)];
      const before = await state();
      await dryPublish('1.1.0');
      await dryControl('1.0.0', { status: 'rolled_back' });
      expect(await state()).toEqual(before);
      expect(await devicesOf(node, tenant)).toEqual([]);
      expect((await check(node, tenant, '0.9.0')).body?.version).toBe('1.0.0');
      expect((await publish(node, tenant, '1.1.0')).status).toBe(201);
    });

    it('is refused as the call would be: 400, 404, 409 (§23.2)', async () => {
      const stranger = await createTenant(node);
      await publish(node, tenant, '1.0.0');
      const error = 'Version already exists on this app and channel';
      expectError(await dryPublish('1.0'), 409, error);
      expectError(await dryPublish('nonsense'), 400, 'version: Invalid version');
      const nowhere = await dryPublish('2.0.0', { channel: 'nowhere' });
      expectError(nowhere, 404, 'Unknown channel');
      const foreign = await dryPublish('3.0.0', {}, stranger);
      expectError(foreign, 404, 'Unknown app');
    });

    it('neither uses an idempotency key up nor looks at one', async () => {
      expect((await dryPublish('1.0.0')).status).toBe(200);
      expect((await dryPublish('1.0.0')).status).toBe(200);
    });

    it('is asked for by `dryRun=true`: false publishes, anything else is 400', async () => {
      const body = { app: tenant.app, channel: 'stable', version: '1.0.0', rollout: 5 };
      for (const dryRun of ['', 'yes', 'TRUE', '1']) {
        for (const method of ['POST', 'PATCH']) {
          const answer = await manage(node, tenant, method, `releases?dryRun=${dryRun}`, body);
          expectError(answer, 400, 'dryRun: Must be one of true, false');
        }
      }
      expect(await releasesOf(node, tenant)).toEqual([]);
      const answer = await manage(node, tenant, 'POST', 'releases?dryRun=false', body);
      expect(answer.status).toBe(201);
    });

    it('tells what speaks against the release, with the path (§23.3)', async () => {
      const both = [ARTIFACT, { ...ARTIFACT, platform: 'darwin' }];
      await publish(node, tenant, '2.0.0', { artifacts: both });
      const odd = { ...ARTIFACT, sha512: 'short', url: 'http://a.example/x' };
      const artifacts = [{ platform: 'widnows' }, odd];
      const answer = await dryPublish('1.0.0-rc.1', { artifacts });
      const told = findingsOf(answer).map(({ path, severity }) => `${severity} ${path}`);
      expect(told).toEqual([
        'error artifacts.0.url',
        'error artifacts.1.sha512',
        'warning version',
        'warning version',
        'warning artifacts.0.platform',
        'warning artifacts.1.url',
        'warning artifacts',
      ]);
      expect(findingsOf(answer)[4]?.message).toContain('windows');
    });
  });

  describe('of serving control', () => {
    it('answers the serving state, and what moves: pause, rollback', async () => {
      for (const version of ['1.0.0', '1.1.0', '1.2.0']) await publish(node, tenant, version);
      const [second, third] = [{ version: '1.2.0' }, { version: '1.1.0' }];
      await withDevices([deviceOf(1), deviceOf(2, second), deviceOf(3, third)]);
      const paused = await dryControl('1.2.0', { status: 'paused' });
      expect(paused.body?.release).toMatchObject({ version: '1.2.0', status: 'paused' });
      expect(effectOf(paused)).toMatchObject({
        gain: 0,
        lose: 1,
        moves: expect.arrayContaining([
          { from: '1.2.0', to: '1.1.0', devices: 1 },
          { from: '1.2.0', to: null, devices: 1 },
        ]),
        examples: { gain: [], lose: ['device-3'] },
      });
      const back = await dryControl('1.2.0', { status: 'rolled_back' });
      expect(effectOf(back).moves).toContainEqual({ from: null, to: '1.1.0', devices: 1 });
      expect((await check(node, tenant, '1.1.0')).body?.version).toBe('1.2.0');
    });

    it('is refused as the call would be: 404, 409, 422', async () => {
      await publish(node, tenant, '1.0.0');
      expect((await dryControl('9.0.0', { rollout: 5 })).status).toBe(404);
      expect((await check(node, tenant, '0.9.0')).status).toBe(200);
      expect((await dryControl('1.0.0', { rollout: 5 })).status).toBe(422);
      await control(node, tenant, '1.0.0', { status: 'rolled_back' });
      expect((await dryControl('1.0.0', { status: 'published' })).status).toBe(409);
    });

    it('of a rollback warns which other channels go on serving the version (§23.4)', async () => {
      await publish(node, tenant, '1.1.0');
      await publish(node, tenant, '1.1.0', { channel: 'beta' });
      const answer = await dryControl('1.1.0', { status: 'rolled_back' });
      expect(findingsOf(answer)).toEqual([
        {
          path: 'version',
          severity: 'warning',
          message: 'The channel beta goes on serving this version: roll it back there as well',
        },
      ]);
      expect(findingsOf(await dryControl('1.1.0', { status: 'paused' }))).toEqual([]);
    });

    it("counts the devices of followers, by their own channel's releases (§24.1)", async () => {
      await admin(node, 'PATCH', 'channels', { app: tenant.app, name: 'beta', follows: 'stable' });
      await publish(node, tenant, '1.1.0');
      await publish(node, tenant, '1.0.5', { channel: 'beta' });
      await withDevices([deviceOf(1), deviceOf(2, { channel: 'beta' })]);
      const answer = await dryControl('1.1.0', { status: 'paused' });
      expect(effectOf(answer)).toMatchObject({
        devices: 2,
        lose: 1,
        moves: expect.arrayContaining([
          { from: '1.1.0', to: null, devices: 1 },
          { from: '1.1.0', to: '1.0.5', devices: 1 },
        ]),
      });
    });
  });

  it('the effect on 300 devices is what asking for each of them before and after says (§24.1)', async () => {
    const versions = ['1.0.0', '1.1.0', '1.2.0', '1.3.0'];
    await publish(node, tenant, '1.1.0');
    await publish(node, tenant, '1.2.0', { rollout: 50 });
    await publish(node, tenant, '1.3.0', { targets: { matchLabels: { ring: ['a'] } } });
    const devices = Array.from({ length: 300 }, (_, index) =>
      deviceOf(index, {
        version: versions[index % 4],
        platform: index % 5 === 0 ? 'windows' : 'linux',
        labels: { ring: ['a', 'b', 'c'][index % 3] },
      }),
    );
    await withDevices(devices);
    const ask = async ({ deviceId, version, platform }: Json) => {
      const options = { device: String(deviceId), platform: String(platform) };
      const { body } = await check(node, tenant, String(version), options);
      return (body?.version ?? null) as string | null;
    };
    const askAll = async () => {
      const answers: (string | null)[] = [];
      for (let from = 0; from < devices.length; from += 100) {
        answers.push(...(await Promise.all(devices.slice(from, from + 100).map(ask))));
      }
      return answers;
    };
    let before = await askAll();
    for (const [version, change] of [
      ['1.2.0', { rollout: 80, status: 'published' }],
      ['1.3.0', { status: 'paused' }],
      ['1.2.0', { status: 'rolled_back' }],
    ] as const) {
      const effect = effectOf(await dryControl(version, change));
      await control(node, tenant, version, change);
      const after = await askAll();
      expectEffect(effect, before, after);
      before = after;
    }
  });

  function expectEffect(
    effect: Effect,
    before: readonly (string | null)[],
    after: readonly (string | null)[],
  ): void {
    const moves = new Map<string, number>();
    for (const [index, from] of before.entries()) {
      const to = after[index] ?? null;
      if (from !== to) moves.set(`${from} ${to}`, (moves.get(`${from} ${to}`) ?? 0) + 1);
    }
    const told = effect.moves.map(({ from, to, devices }) => [`${from} ${to}`, devices] as const);
    expect(new Map(told)).toEqual(moves);
    expect(moves.size).toBeGreaterThan(0);
    const count = (fits: (from: string | null, to: string | null) => boolean) =>
      before.filter((from, index) => fits(from, after[index] ?? null)).length;
    expect(effect).toMatchObject({
      devices: before.length,
      isEstimate: false,
      gain: count((from, to) => from === null && to !== null),
      lose: count((from, to) => from !== null && to === null),
    });
  }

  it('many at once are answered, or told to come again (§24.2)', async () => {
    await publish(node, tenant, '1.0.0');
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => dryPublish(`2.0.${index}`)),
    );
    for (const { status, headers } of answers) {
      expect([200, 503]).toContain(status);
      if (status === 503) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect(answers.some(({ status }) => status === 200)).toBe(true);
  });
});
