// Tests what the console reads and does with releases, as a publisher's browser asks for it, also with
// hostile names, notes, labels and device ids.

import { beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { member, type Person } from '../support/person.ts';
import { serviceSuite } from '../support/service-suite.ts';
import {
  ARTIFACT,
  admin,
  check,
  createTenant,
  manage,
  publish,
  randomId,
  report,
  type Tenant,
} from '../support/tenant.ts';

type Fields = Record<string, unknown>;

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
  let tenant: Tenant;
  let publisher: Person;
  beforeAll(async () => {
    tenant = await createTenant(node);
    publisher = await member(node, tenant.org, 'publisher');
  });

  async function read(path: string, person = publisher): Promise<Fields> {
    const answer = await person.call('GET', path);
    expect(answer.status, `${path} ${answer.text}`).toBe(200);
    return answer.body ?? {};
  }

  const on = (more: Fields = {}): Fields => ({ app: tenant.app, channel: 'stable', ...more });

  it('publishes and steers a release as the management API does, with the same refusals', async () => {
    const version = '3.0.0';
    const body = on({ version, rollout: 40, notes: '# New\n\n<b>bold</b>', artifacts: [ARTIFACT] });
    const published = await publisher.call('POST', 'releases', body);
    expect([published.status, published.body]).toMatchObject([
      201,
      { release: { version, rolloutPct: 40, status: 'published', artifacts: [ARTIFACT] } },
    ]);
    const again = await publisher.call('POST', 'releases', body);
    const viaKey = await manage(node, tenant, 'POST', 'releases', body);
    expect([again.status, again.body]).toEqual([viaKey.status, viaKey.body]);
    expect(again.status).toBe(409);
    const shown = await read(`release?app=${tenant.app}&channel=stable&version=v3`);
    expect(shown.release).toMatchObject({
      notes: '# New\n\n<b>bold</b>',
      // The page has headings of its own above them.
      notesHtml: '<h3>New</h3>\n<p>&lt;b&gt;bold&lt;/b&gt;</p>',
    });
    for (let count = 0; ; count++) {
      const { status } = await check(node, tenant, '1.0.0', { device: `offer-${count}` });
      if (status === 200) break;
    }
    const lowered = await publisher.call('PATCH', 'releases', on({ version, rollout: 10 }));
    expect([lowered.status, String(lowered.body?.error)]).toEqual([
      422,
      expect.stringContaining('already offered at 40%'),
    ]);
    const raised = await publisher.call('PATCH', 'releases', on({ version, rollout: 60 }));
    expect(raised.body).toMatchObject({ release: { version, rolloutPct: 60 } });
    const { history } = await read(`release?app=${tenant.app}&channel=stable&version=${version}`);
    expect(history).toMatchObject([
      { actor: `account:${publisher.email}`, action: 'release.serve' },
      { actor: `account:${publisher.email}`, action: 'release.publish' },
    ]);
    const rolledBack = on({ version, status: 'rolled_back' });
    expect((await publisher.call('PATCH', 'releases', rolledBack)).status).toBe(200);
    const back = await publisher.call('PATCH', 'releases', on({ version, status: 'published' }));
    expect([back.status, back.body]).toEqual([
      409,
      { error: 'A rolled-back release cannot be re-served' },
    ]);
  });

  it.each([
    ['releases', {}, /^app: Required$/],
    ['releases', { app: 'a', channel: 'c', version: 'x' }, /^version: Invalid version$/],
    ['releases', { app: 'a', channel: 'c', version: '1', more: 1 }, /^more: Unrecognized key$/],
  ])('POST %s with %j is 400 that names the field', async (path, body, message) => {
    const answer = await publisher.call('POST', path, body);
    expect(answer.status).toBe(400);
    expect(String(answer.body?.error)).toMatch(message);
  });

  it.each([
    ['apps', 'org'],
    ['releases?app=a', 'channel'],
    ['releases?app=a&channel=c&page=0', 'page'],
    ['releases?app=a&channel=c&perPage=101', 'perPage'],
    ['release?app=a&channel=c&version=x', 'version'],
    ['adoption?app=a&step=year', 'step'],
    ['adoption?app=a&since=yesterday&step=day', 'since'],
    ['decision?app=a', 'deviceId'],
    ['devices?app=a&signal=failed', 'channel'],
    ['devices?app=a&channel=c&signal=failed', 'release'],
    ['devices?app=a&channel=c&signal=failed&release=1.0.0&after=x', 'after'],
    ['audit?org=o&limit=0', 'limit'],
    ['members', 'org'],
  ])('GET %s is 400 that names %s', async (path, field) => {
    const answer = await publisher.call('GET', path);
    expect(answer.status).toBe(400);
    expect(String(answer.body?.error).startsWith(`${field}: `), answer.text).toBe(true);
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
      deviceId: text,
      version: '1.0.0',
      platform: 'linux',
      channel: 'stable',
      labels: Object.fromEntries([
        ['note', text],
        [text, 'x'],
      ]),
    }));
    expect((await report(node, tenant, devices)).status).toBe(200);
    const nameable = HOSTILE.filter((text) => text !== REVERSING);
    for (const [index, text] of HOSTILE.entries()) {
      const expected = nameable.includes(text) ? 201 : 400;
      const named = await owner.call('POST', 'apps', {
        org: tenant.org,
        ref: `hostile-${randomId()}`,
        name: text,
      });
      expect(named.status).toBe(expected);
      const key = await owner.call('POST', 'keys', { org: tenant.org, name: text });
      expect(key.status).toBe(expected);
      const version = `0.0.${index + 1}`;
      expect((await publish(node, tenant, version, { notes: text })).status).toBe(201);
      const id = encodeURIComponent(text);
      const decision = await owner.call('GET', `decision?app=${tenant.app}&deviceId=${id}`);
      expect(decision.headers.get('content-type')).toBe('application/json');
      expect(decision.body?.device).toMatchObject({ deviceId: text });
      const shown = await read(`release?app=${tenant.app}&channel=stable&version=${version}`);
      const { notes, notesHtml } = shown.release as { notes: string; notesHtml: string };
      expect(notes).toBe(text);
      expect(notesHtml).not.toMatch(/<(?:script|img|title)/i);
    }
    const { apps } = await read(`apps?org=${tenant.org}`);
    const names = (apps as { name: string }[]).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(nameable));
    const { keys } = await read(`labels?app=${tenant.app}`);
    const shown = (keys as { key: string; values: { value: string }[] }[]).map(({ key }) => key);
    expect(shown).toEqual(expect.arrayContaining(HOSTILE));
    const search = encodeURIComponent("'; DROP TABLE accounts; --%_\\");
    expect(await read(`audit?org=${tenant.org}&subject=${search}`)).toEqual({
      entries: [],
      next: null,
    });
  });

  describe('the decision about a device', () => {
    it('is the one it gets, explained, and leaves no trace', async () => {
      const mine = await createTenant(node);
      const person = await member(node, mine.org, 'viewer');
      await publish(node, mine, '1.0.0');
      await publish(node, mine, '1.1.0', { artifacts: [{ platform: 'windows' }] });
      const targets = { matchLabels: { ring: ['beta'] }, matchExpressions: [] };
      await publish(node, mine, '1.2.0', { targets });
      await publish(node, mine, '1.3.0', { status: 'paused' });
      const device = { deviceId: 'd 1/+&', version: '0.9.0', platform: 'linux', arch: 'x86_64' };
      await report(node, mine, [{ ...device, channel: 'stable', labels: { ring: 'all' } }]);
      const path = `decision?app=${mine.app}&deviceId=${encodeURIComponent('d 1/+&')}`;
      const decision = await read(path, person);
      expect(decision).toMatchObject({
        device: { deviceId: 'd 1/+&', labels: { ring: 'all' } },
        offer: { version: '1.0.0', updateMode: 'optional' },
        reason: 'offered',
        considered: 4,
        candidates: [
          { version: '1.3.0', verdict: 'paused' },
          { version: '1.2.0', verdict: 'not-targeted', detail: expect.stringContaining('ring') },
          { version: '1.1.0', verdict: 'no-artifact' },
          { version: '1.0.0', verdict: 'offered', threshold: 10_000, bucket: expect.any(Number) },
        ],
        current: { version: '0.9.0', status: null },
      });
      // The rollout of an offered release could not be lowered any more.
      const lowered = { app: mine.app, channel: 'stable', version: '1.0.0', rollout: 1 };
      expect((await admin(node, 'PATCH', 'releases', lowered)).status).toBe(200);
      const real = await check(node, mine, '0.9.0', { device: 'd 1/+&' });
      expect((await read(path, person)).offer === null).toBe(real.status === 204);
      const beta = await read(`${path}&channel=beta`, person);
      expect([beta.reason, beta.candidates]).toEqual(['up-to-date', []]);
      const unknown = await person.call('GET', `decision?app=${mine.app}&deviceId=nobody`);
      expect([unknown.status, unknown.body]).toEqual([404, { error: 'Unknown device' }]);
      const nowhere = await person.call('GET', `${path}&channel=nowhere`);
      expect([nowhere.status, nowhere.body]).toEqual([404, { error: 'Unknown channel' }]);
    });

    it('explains the way back from a release that was rolled back', async () => {
      const mine = await createTenant(node);
      for (const version of ['1.0.0', '2.0.0']) await publish(node, mine, version);
      const device = { deviceId: 'd', version: '2.0.0', platform: 'linux', arch: 'x86_64' };
      await report(node, mine, [{ ...device, channel: 'stable' }]);
      const rolled = { app: mine.app, channel: 'stable', version: '2.0.0', status: 'rolled_back' };
      await admin(node, 'PATCH', 'releases', rolled);
      const { body } = await admin(node, 'GET', `decision?app=${mine.app}&deviceId=d`);
      expect(body).toMatchObject({
        offer: { version: '1.0.0', allowDowngrade: true },
        candidates: [{ version: '1.0.0', verdict: 'offered' }],
        current: { version: '2.0.0', status: 'rolled_back' },
      });
    });
  });

  it('shows when a key was last used, soon after', async () => {
    const mine = await createTenant(node);
    const keyOf = async () => {
      const { body } = await admin(node, 'GET', `keys?org=${mine.org}`);
      return ((body?.keys ?? []) as { lastUsedAt: string | null }[])[0];
    };
    expect(await keyOf()).toMatchObject({ lastUsedAt: null, createdBy: 'admin-token' });
    expect((await manage(node, mine, 'GET', 'apps')).status).toBe(200);
    await eventually('the use is written', async () => (await keyOf())?.lastUsedAt !== null);
    const first = await keyOf();
    await manage(node, mine, 'GET', 'apps');
    expect(await keyOf()).toEqual(first);
  });
});
