// Tests what the console reads and does with releases, as a publisher's browser asks for it, also with
// hostile names, notes, labels and device ids. Who may call what is in console-rights.test.ts.

import { beforeAll, expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import { member, type Person } from '../support/person.ts';
import { serviceSuite, suiteTenant } from '../support/service-suite.ts';
import { ARTIFACT, admin, createTenant, type Json, randomId } from '../support/tenant.ts';

/** Text that shows other text in another order; devices and notes may have it, names may not. */
const REVERSING = '\u202eright to left';
const HOSTILE = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  'a"b\'c\\d\u2028e</title>',
  REVERSING,
  `${'x'.repeat(128)}`,
  '__proto__',
  '=cmd|/c calc',
  '\u{1f600} %00 $(id) {{7*7}}',
];

serviceSuite('the console', (node) => {
  const tenant = suiteTenant(node);
  let publisher: Person;
  beforeAll(async () => {
    publisher = await member(node, tenant.org, 'publisher');
  });

  async function read(path: string): Promise<Json> {
    const answer = await publisher.call('GET', path);
    expect(answer.status, `${path} ${answer.text}`).toBe(200);
    return answer.body ?? {};
  }

  const named = (version: string, more: Json = {}): Json => ({
    ...{ app: tenant.app, channel: 'stable', version, ...more },
  });
  const steer = (version: string, change: Json) =>
    publisher.call('PATCH', 'releases', named(version, change));

  it('publishes and steers a release as the management API does, with the same refusals', async () => {
    const version = '3.0.0';
    const notes = '# New\n\n<b>bold</b>';
    const body = named(version, { rollout: 40, notes, artifacts: [ARTIFACT] });
    const published = await publisher.call('POST', 'releases', body);
    expect([published.status, published.body]).toMatchObject([
      201,
      { release: { version, rolloutPct: 40, status: 'published', artifacts: [ARTIFACT] } },
    ]);
    const again = await publisher.call('POST', 'releases', body);
    const viaKey = await tenant.manage('POST', 'releases', body);
    expect([again.status, again.body]).toEqual([viaKey.status, viaKey.body]);
    expect(again.status).toBe(409);
    const one = `release?app=${tenant.app}&channel=stable&version=v3`;
    expect((await read(one)).release).toMatchObject({
      // The page has headings of its own above them.
      ...{ notes, notesHtml: '<h3>New</h3>\n<p>&lt;b&gt;bold&lt;/b&gt;</p>' },
    });
    const raised = await steer(version, { rollout: 60 });
    expect(raised.body).toMatchObject({ release: { version, rolloutPct: 60 } });
    const actor = `account:${publisher.email}`;
    const deeds = ['release.serve', 'release.publish'].map((action) => ({ actor, action }));
    expect((await read(one)).history).toMatchObject(deeds);
    expect((await steer(version, { status: 'rolled_back' })).status).toBe(200);
    const back = await steer(version, { status: 'published' });
    expectError(back, 409, 'A rolled-back release cannot be re-served');
  });

  it('rehearses, promotes and withdraws; the withdrawal keeps its reason in the audit (§23)', async () => {
    const artifacts = [{ platform: 'widnows' }];
    const rehearse = (more: Json) =>
      publisher.call('POST', 'releases/rehearse', named('4.0.0', more));
    const rehearsed = await rehearse({ artifacts });
    expect([rehearsed.status, rehearsed.body]).toMatchObject([
      200,
      {
        release: { version: '4.0.0', channel: 'stable' },
        effect: { gain: 0, lose: 0 },
      },
    ]);
    expect(rehearsed.body?.findings).toContainEqual(
      expect.objectContaining({ path: 'artifacts.0.platform', message: expect.any(String) }),
    );
    // It was not published.
    expect((await tenant.publish('4.0.0')).status).toBe(201);
    expectError(await rehearse({}), 409, 'Version already exists on this app and channel');
    expectError(await rehearse({ version: undefined }), 400, 'version: Required');
    expectError(await rehearse({ more: 1 }), 400, 'more: Unrecognized key');
    const promotion = { app: tenant.app, version: '4.0.0', from: 'stable', to: 'beta' };
    const promoted = await publisher.call('POST', 'releases/promote', promotion);
    expect([promoted.status, promoted.body]).toEqual([
      201,
      { release: expect.objectContaining({ channel: 'beta', version: '4.0.0' }) },
    ]);
    const name = { app: tenant.app, channel: 'beta', version: '4.0.0' };
    const withdraw = (more: Json) => publisher.call('DELETE', 'releases', { ...name, ...more });
    const withdrawn = await withdraw({ reason: 'wrong file' });
    expect([withdrawn.status, withdrawn.body]).toEqual([200, { release: name }]);
    expect((await withdraw({})).status).toBe(404);
    expect(await tenant.audit('limit=2&action=release')).toMatchObject([
      {
        ...{ action: 'release.withdraw', reason: 'wrong file', after: null },
        before: { notes: expect.any(String), artifacts: [{ url: expect.stringMatching(/^http/) }] },
      },
      { action: 'release.promote' },
    ]);
  });

  it('a change that is meant for another state is refused in words, and of many who saw the same one is right', async () => {
    await tenant.publish('5.0.0', { rollout: 10 });
    const seen = { status: 'published', rolloutPct: 10 };
    expect((await steer('5.0.0', { status: 'paused', seen })).status).toBe(200);
    const other = await steer('5.0.0', { rollout: 50, seen });
    expectError(other, 409, 'Somebody changed this release meanwhile: it is paused, at 10 %');
    const wrong = await steer('5.0.0', { rollout: 60, seen: { status: 'paused' } });
    expectError(wrong, 400, 'seen.rolloutPct: Required');
    const now = { ...seen, status: 'paused' };
    const answers = await Promise.all(
      [60, 70, 80, 90].map((rollout) => steer('5.0.0', { rollout, seen: now })),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409]);
  });

  it.each([
    ['apps', 'org'],
    ['releases?app=a&channel=c&perPage=101', 'perPage'],
    ['release?app=a&channel=c&version=x', 'version'],
    ['adoption?app=a&step=year', 'step'],
    ['adoption?app=a&since=yesterday&step=day', 'since'],
    ['decision?app=a', 'deviceId'],
    ['devices?app=a&signal=failed', 'channel'],
    ['devices?app=a&channel=c&signal=failed', 'release'],
    ['devices?app=a&channel=c&signal=failed&release=1.0.0&after=x', 'after'],
  ])('GET %s is 400 that names %s', async (path, field) => {
    const answer = await publisher.call('GET', path);
    expectError(answer, 400, expect.stringMatching(`^${field}: `));
  });

  it('reads hours of the last month only', async () => {
    const since = new Date(Date.now() - 32 * 86_400_000).toISOString();
    const path = `adoption?app=${tenant.app}&since=${since}`;
    expect((await publisher.call('GET', `${path}&step=hour`)).status).toBe(400);
    expect(await read(`${path}&step=day`)).toHaveProperty('points');
  });

  it('gives hostile texts back as they are, as JSON and as nothing else', async () => {
    const owner = await member(node, tenant.org, 'owner');
    const devices = HOSTILE.map((text) => ({
      ...{ deviceId: text, version: '1.0.0', platform: 'linux', channel: 'stable' },
      labels: Object.fromEntries([
        ['note', text],
        [text, 'x'],
      ]),
    }));
    expect((await tenant.report(devices)).status).toBe(200);
    const nameable = HOSTILE.filter((text) => text !== REVERSING);
    for (const [index, text] of HOSTILE.entries()) {
      const expected = nameable.includes(text) ? 201 : 400;
      const app = { org: tenant.org, ref: `hostile-${randomId()}`, name: text };
      const made = await owner.call('POST', 'apps', app);
      expect([made.status, made.body?.name ?? text]).toEqual([expected, text]);
      const key = await owner.call('POST', 'keys', { org: tenant.org, name: text });
      expect(key.status).toBe(expected);
      const version = `0.0.${index + 1}`;
      expect((await tenant.publish(version, { notes: text })).status).toBe(201);
      const id = encodeURIComponent(text);
      const decision = await owner.call('GET', `decision?app=${tenant.app}&deviceId=${id}`);
      expect(decision.headers.get('content-type')).toBe('application/json');
      expect(decision.body?.device).toMatchObject({ deviceId: text });
      const shown = await read(`release?app=${tenant.app}&channel=stable&version=${version}`);
      const { notes, notesHtml } = shown.release as { notes: string; notesHtml: string };
      expect(notes).toBe(text);
      expect(notesHtml).not.toMatch(/<(?:script|img|title)/i);
    }
    const { keys } = await read(`labels?app=${tenant.app}`);
    const shown = (keys as { key: string }[]).map(({ key }) => key);
    expect(shown).toEqual(expect.arrayContaining(HOSTILE));
    const search = encodeURIComponent("'; DROP TABLE accounts; --%_\\");
    const found = await read(`audit?org=${tenant.org}&subject=${search}`);
    expect(found).toEqual({ entries: [], next: null });
  });

  it('explains the decision about a device as it gets it, also the way back, and leaves no trace', async () => {
    const artifacts = [{ platform: 'windows' }];
    const mine = await createTenant(node, ['1.0.0'], ['1.1.0', { artifacts }]);
    const targets = { matchLabels: { ring: ['beta'] }, matchExpressions: [] };
    await mine.publish('1.2.0', { targets });
    await mine.publish('1.3.0', { status: 'paused' });
    const device = { deviceId: 'd 1/+&', version: '0.9.0', platform: 'linux', arch: 'x86_64' };
    const sent = { ...device, channel: 'stable', labels: { ring: 'all' } };
    await mine.report([sent, { ...sent, deviceId: 'back', version: '2.0.0' }]);
    const decide = (query: string) => admin(node, 'GET', `decision?app=${mine.app}&${query}`);
    const id = `deviceId=${encodeURIComponent(device.deviceId)}`;
    expect((await decide(id)).body).toMatchObject({
      device: { deviceId: 'd 1/+&', labels: { ring: 'all' } },
      ...{ offer: { version: '1.0.0', updateMode: 'optional' }, reason: 'offered', considered: 4 },
      candidates: [
        { version: '1.3.0', verdict: 'paused' },
        { version: '1.2.0', verdict: 'not-targeted', detail: expect.stringContaining('ring') },
        { version: '1.1.0', verdict: 'no-artifact' },
        { version: '1.0.0', verdict: 'offered', threshold: 10_000, bucket: expect.any(Number) },
      ],
      current: { version: '0.9.0', status: null },
    });
    const beta = (await decide(`${id}&channel=beta`)).body;
    expect([beta?.reason, beta?.candidates]).toEqual(['up-to-date', []]);
    expectError(await decide('deviceId=nobody'), 404, 'Unknown device');
    expectError(await decide(`${id}&channel=nowhere`), 404, 'Unknown channel');
    await mine.publish('2.0.0');
    await mine.control('2.0.0', { status: 'rolled_back' });
    expect((await decide('deviceId=back')).body).toMatchObject({
      offer: { version: '1.0.0', allowDowngrade: true },
      current: { version: '2.0.0', status: 'rolled_back' },
    });
    // The rollout of an offered release could not be lowered any more.
    expect((await mine.control('1.0.0', { rollout: 1 })).status).toBe(200);
    const real = await mine.check('0.9.0', { device: device.deviceId });
    const { body } = await decide(id);
    expect(body?.offer === null).toBe(real.status === 204);
  });
});
