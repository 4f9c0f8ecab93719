// Tests dry runs over HTTP: what they answer, that they are refused as the call would be, and that they write
// nothing (docs/contract.md 23, 24, 27.10 to 27.12). What they find and count is tested in
// test/domain/release, test/domain/rollout and test/serving/dry-run-effect.test.ts.

import { beforeAll, expect, it } from 'vitest';
import type { Effect, Finding } from '../../src/contract/dry-run.ts';
import { eventually } from '../support/eventually.ts';
import { expectError } from '../support/expect-error.ts';
import { serviceSuite, suiteTenant } from '../support/service-suite.ts';
import { runSluiceHere } from '../support/sluice-command.ts';
import { ARTIFACT, admin, type Json } from '../support/tenant.ts';

const STEPS = [
  { rollout: 10, holdMinutes: 60 },
  { rollout: 50, holdMinutes: 60 },
];
/** A file of its own for each release, for one that another release has is a finding. */
const artifactOf = (name: string) => ({
  ...ARTIFACT,
  url: `https://dl.example.com/${name}/app.tar.gz`,
});

/** Answer to a dry run of any kind. */
type Tried = { release: Json; plan: Json; findings: Finding[]; effect: Effect };

serviceSuite('a dry run', (node) => {
  const tenant = suiteTenant(node);
  let before: unknown;
  const stateOf = async () => [
    ...[await tenant.audit(), await tenant.releases()],
    await tenant.devices(),
  ];

  /** Makes the releases and the devices of which all tests try changes. */
  beforeAll(async () => {
    const { app } = tenant;
    await admin(node, 'PATCH', 'channels', { app, name: 'beta', follows: 'stable' });
    for (const name of ['early', 'late']) await admin(node, 'POST', 'channels', { app, name });
    for (const [version, channel = 'stable', more = {}] of [
      ...[['0.5.0'], ['1.0.0'], ['1.1.0'], ['1.2.0'], ['1.1.0', 'beta'], ['1.2.0', 'late']],
      ['1.0.0', 'early', { rollout: 10 }],
    ] as const) {
      const artifacts = [artifactOf(`${channel}-${version}`)];
      await tenant.publish(version, { channel, artifacts, ...more });
    }
    await tenant.control('0.5.0', { status: 'rolled_back' });
    const deviceOf = (deviceId: string, version: string, more: Json = {}) => {
      return { deviceId, version, channel: 'stable', platform: 'linux', arch: 'x86_64', ...more };
    };
    const early = (_: unknown, index: number) =>
      deviceOf(`early-${index}`, '0.9.0', { channel: 'early' });
    const devices = [
      ...[deviceOf('a', '1.0.0', { labels: { ring: 'x' } }), deviceOf('b', '1.2.0')],
      ...[deviceOf('c', '1.1.0'), deviceOf('d', '1.0.0', { platform: 'windows' })],
      ...[deviceOf('e', '1.0.0', { channel: 'beta' }), ...Array.from({ length: 20 }, early)],
    ];
    expect((await tenant.report(devices)).status).toBe(200);
    expect(await tenant.offered()).toBe('1.2.0');
    await eventually('they are on record', async () => {
      const { body } = await admin(node, 'GET', `fleet?app=${app}`);
      return body?.total === devices.length;
    });
    before = await stateOf();
  });

  /** Tries a call whose body names 1.2.0 on `stable` unless told otherwise. */
  const ask = (method: string, path: string, more: Json) => {
    const name = { app: tenant.app, channel: 'stable', version: '1.2.0' };
    return tenant.manage(method, `${path}?dryRun=true`, { ...name, ...more });
  };
  const tryOf = async (...args: Parameters<typeof ask>): Promise<Tried> => {
    const { status, body, text } = await ask(...args);
    expect(status, text).toBe(200);
    return body as Tried;
  };
  const movesIn = ({ effect }: Tried) =>
    Object.fromEntries(effect.moves.map(({ from, to, devices }) => [`${from} > ${to}`, devices]));

  it('of publishing answers the release without id and time, findings and effect (§23.1)', async () => {
    const artifacts = [artifactOf('1.3')];
    const targets = { matchLabels: { ring: ['x'] } };
    const more = { version: 'v1.3', notes: 'New', artifacts, rollout: 100, targets };
    expect(await tryOf('POST', 'releases', more)).toStrictEqual({
      release: {
        ...{ app: tenant.app, channel: 'stable', version: 'v1.3', notes: 'New' },
        ...{ status: 'published', rolloutPct: 100, artifacts },
      },
      findings: [],
      effect: {
        ...{ devices: 5, isEstimate: false, gain: 0, lose: 0 },
        moves: [{ from: '1.2.0', to: 'v1.3', devices: 1 }],
        platforms: [
          { platform: 'linux', arch: 'x86_64', devices: 4, gain: 0, lose: 0, withoutArtifact: 0 },
          { platform: 'windows', arch: 'x86_64', devices: 1, gain: 0, lose: 0, withoutArtifact: 1 },
        ],
        examples: { gain: [], lose: [] },
      },
    });
  });

  it('of serving control answers the serving state, and what moves on followers too (§23.4, §24.1)', async () => {
    const paused = await tryOf('PATCH', 'releases', { status: 'paused' });
    expect(paused).toMatchObject({
      release: { version: '1.2.0', status: 'paused' },
      effect: { devices: 5, gain: 0, lose: 1, examples: { gain: [], lose: ['c'] } },
    });
    expect(movesIn(paused)).toEqual({ '1.2.0 > 1.1.0': 2, '1.2.0 > null': 1 });
    expect(paused.findings).toEqual([]);
    // A rollback warns which other channels go on serving the version (§23.4).
    const back = await tryOf('PATCH', 'releases', { status: 'rolled_back' });
    expect(movesIn(back)).toMatchObject({ 'null > 1.1.0': 1 });
    const message = 'The channel late goes on serving this version: roll it back there as well';
    expect(back.findings).toEqual([{ path: 'version', severity: 'warning', message }]);
  });

  const EARLY = { channel: 'early', version: '1.0.0' };
  const promote = (more: Json = {}) => {
    const names = { app: tenant.app, version: '1.2.0', from: 'stable', to: 'early', rollout: 100 };
    return tenant.manage('POST', 'releases/promote?dryRun=true', { ...names, ...more });
  };

  it('of a promotion answers the release on the other channel, and what moves (§23.1)', async () => {
    const { body, text } = await promote();
    expect(body, text).toMatchObject({ findings: [], effect: { devices: 20, isEstimate: false } });
    const { release, effect } = body as Tried;
    expect(release).toMatchObject({ channel: 'early', status: 'published', rolloutPct: 100 });
    expect(release).not.toHaveProperty('id');
    expect(effect.moves.every(({ to }) => to === '1.2.0')).toBe(true);
  });

  it('of a plan says the first raise with numbers, and what its guards cannot judge (§27.12)', async () => {
    const guards = { failedPercent: 2, confirmMinutes: 90 };
    const { plan, findings, effect } = await tryOf('PUT', 'releases/plan', {
      ...{ ...EARLY, guards },
      steps: [{ ...STEPS[1], rollout: 100 }],
    });
    expect(plan).toMatchObject({ version: '1.0.0', step: null, onBlind: 'hold' });
    expect(plan).not.toHaveProperty('id');
    const raise = `At once.* from 10 % to 100 %, for about ${effect.gain} devices? more$`;
    const warning = (path: string, text: string | RegExp) => {
      return { path, severity: 'warning', message: expect.stringMatching(text) };
    };
    expect(findings[0]).toEqual(warning('steps.0.rollout', new RegExp(raise)));
    expect(findings).toContainEqual(warning('guards', /^Of 0 devices .* 100 % are 0; /));
    expect(effect.devices).toBe(20);
    // A release that begins with it, or is promoted with it, has the same (§23.6).
    const begun = { plan: { steps: STEPS, guards } };
    const published = await tryOf('POST', 'releases', { version: '1.4.0', ...begun });
    const promoted = (await promote({ rollout: undefined, ...begun })).body as Tried;
    for (const tried of [published, promoted]) {
      expect(tried.findings).toContainEqual(
        warning('plan.guards', /^Of 0 devices .* 50 % are 0; /),
      );
    }
  });

  it('is refused as the call would be, with 400, 404, 409 and 422 (§23.2)', async () => {
    const isThere = 'Version already exists on this app and channel';
    for (const [answer, status, error] of [
      [ask('POST', 'releases', { version: '1.2' }), 409, isThere],
      [ask('POST', 'releases', { version: 'nonsense' }), 400, 'version: Invalid version'],
      [ask('POST', 'releases', { channel: 'nowhere' }), 404, 'Unknown channel'],
      [ask('POST', 'releases', { app: 'nobody' }), 404, 'Unknown app'],
      [ask('PATCH', 'releases', { version: '9.0.0', rollout: 5 }), 404, 'Unknown release'],
      [ask('PATCH', 'releases', { rollout: 5 }), 422, /^This release was already offered at 100%/],
      [ask('PATCH', 'releases', { version: '0.5.0', status: 'published' }), 409, /rolled.back/],
      [promote({ to: 'stable' }), 400, 'to: Must be another channel than from'],
      [promote({ version: '7.0.0' }), 404, 'Unknown release'],
      [promote({ to: 'nightly' }), 404, 'Unknown channel'],
      [ask('PUT', 'releases/plan', { ...EARLY, steps: [] }), 400, /^steps: /],
    ] as const) {
      expect(await answer).toMatchObject({ status, body: { error: expect.stringMatching(error) } });
    }
  });

  it('is asked for by true, every other value but false is 400 (§23.1)', async () => {
    const release = { app: tenant.app, channel: 'stable', version: '1.0.0' };
    for (const [method, path, more] of [
      ['POST', 'releases', {}],
      ['PATCH', 'releases', { rollout: 5 }],
      ['POST', 'releases/promote', { from: 'stable', to: 'beta', channel: undefined }],
      ['PUT', 'releases/plan', { preset: 'fast' }],
    ] as const) {
      for (const value of ['', 'TRUE']) {
        const body = { ...release, ...more };
        const answer = await tenant.manage(method, `${path}?dryRun=${value}`, body);
        expectError(answer, 400, 'dryRun: Must be one of true, false');
      }
    }
  });

  const planOf = async (channel: string, version: string) => {
    const query = new URLSearchParams({ app: tenant.app, channel, version });
    return (await tenant.manage('GET', `releases/plan?${query}`)).body?.plan;
  };

  function setPlan(...args: readonly string[]) {
    const name = ['--app', tenant.app, '--channel', 'early', '--version', '1.0.0'];
    const env = { SLUICE_URL: node.url, SLUICE_KEY: tenant.secret };
    return runSluiceHere(['plan', 'set', ...name, ...args], env);
  }

  it('is what `plan set --dry-run` prints (Command line)', async () => {
    const { code, stdout, stderr } = await setPlan('--preset', 'fast', '--dry-run');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('warning: steps.0.rollout: At once the plan raises the rollout');
    expect(stdout).toContain('effect: of 20 devices');
    const push = ['--steps', '50:60', '--failed-percent', '2', '--source', 'push'];
    const { plan } = JSON.parse((await setPlan(...push, '--dry-run', '--json')).stdout) as Tried;
    expect(plan).toMatchObject({ guards: { failedPercent: 2, source: 'push' } });
  });

  it('writes nothing: no release, plan or check-in, no audit, and versions stay free (§23.2)', async () => {
    expect(await stateOf()).toEqual(before);
    expect(await planOf('early', '1.0.0')).toBeUndefined();
    const body = { app: tenant.app, channel: 'stable', version: 'v1.3' };
    const planned = { ...body, plan: { preset: 'normal' } };
    const published = await tenant.manage('POST', 'releases?dryRun=false', planned);
    expect(published.status).toBe(201);
    expect(await planOf('stable', '1.3.0')).toMatchObject({ preset: 'normal' });
  });

  it('is printed before `plan set` makes the plan, by its preset and hours (§27.11, §27.12)', async () => {
    const between = 'fri-mon 22:00-06:00 Europe/Berlin';
    const { code, stdout } = await setPlan('--preset', 'fast', '--between', between);
    expect(code, stdout).toBe(0);
    const first = /^warning: steps\.0\.rollout: Once its hours are open [^\n]+ from 10 % to 20 %/;
    expect(stdout).toMatch(first);
    const { body } = await tenant.manage('GET', 'releases/plan/presets');
    const presets = body?.presets as { name: string; guards: object; steps: object[] }[];
    expect(presets.map(({ name }) => name)).toEqual(['careful', 'normal', 'fast']);
    const { guards, steps } = presets[2] ?? {};
    const raiseBetween = { days: ['fri', 'sat', 'sun', 'mon'], from: '22:00', to: '06:00' };
    const plan = { preset: 'fast', onBlind: 'advance', guards, steps, raiseBetween };
    expect(await planOf('early', '1.0.0')).toMatchObject(plan);
    expect((await ask('PUT', 'releases/plan', { ...EARLY, steps: STEPS })).status).toBe(409);
  });
});
