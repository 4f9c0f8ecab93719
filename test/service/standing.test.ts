// Tests that lists, pages and the overview have the standing of what is stored (docs/contract.md 4.17). The
// rules, and that devices are answered accordingly, are in test/domain/decision/standing.test.ts.

import { beforeAll, expect, it } from 'vitest';
import { servingText } from '../../src/console/format/serving.ts';
import type {
  ChannelDetail,
  ChannelOverview,
  ChannelReleases,
} from '../../src/contract/console.ts';
import { serviceSuite, suiteTenant } from '../support/service-suite.ts';
import { ARTIFACT, admin, type Json, releaseOf } from '../support/tenant.ts';

const BOTH = { artifacts: [ARTIFACT, { ...ARTIFACT, platform: 'darwin' }] };
const UNSIGNED = { artifacts: [{ platform: 'linux', arch: 'x86_64', url: ARTIFACT.url }] };

serviceSuite('the standing of releases', (node) => {
  const tenant = suiteTenant(node);
  beforeAll(async () => {
    await tenant.setChannel({ follows: 'stable', requireSignature: true }, 'beta');
  });

  const published = async (channel: string, version: string, more: Json = {}, change?: Json) => {
    const answer = await tenant.publish(version, { channel, ...more });
    expect(releaseOf(answer), answer.text).toHaveProperty('id');
    const body = { app: tenant.app, channel, version, ...change };
    if (change) expect((await admin(node, 'PATCH', 'releases', body)).status).toBe(200);
  };

  async function pageOf(channel: string): Promise<ChannelReleases & ChannelDetail> {
    const place = `app=${tenant.app}&channel=${channel}`;
    const [list, page] = [
      await admin(node, 'GET', `releases?${place}`),
      await admin(node, 'GET', `channel?${place}`),
    ];
    return { ...list.body, ...page.body } as unknown as ChannelReleases & ChannelDetail;
  }

  async function expectStanding(channel: string, states: Json, serves: string): Promise<void> {
    const { releases, standing } = await pageOf(channel);
    const said = releases.map((each) => [each.version, each.standing.state]);
    expect(Object.fromEntries(said)).toEqual(states);
    expect(servingText(standing, channel)).toBe(serves);
  }

  it('is that of the stored releases, their changes and targets (§4.17)', async () => {
    await published('stable', '1.0.0');
    await published('stable', '2.0.0', {}, { status: 'rolled_back' });
    await published('stable', '2.1.0', BOTH);
    await published('stable', '2.2.0', { targets: { matchLabels: { ring: ['early'] } } });
    await published('stable', '2.3.0', { rollout: 0 });
    const states = { '2.1.0': 'serving', '2.2.0': 'serving', '2.3.0': 'for nobody yet' };
    await expectStanding(
      'stable',
      { '1.0.0': 'superseded', '2.0.0': 'rolled back', ...states },
      '2.2.0 on linux for some, 2.1.0',
    );
    const { releases } = await pageOf('stable');
    expect(releases.at(-1)?.standing).toMatchObject({ wayDownFor: ['2.0.0'] });
    // On a channel it is beside the releases that it follows, and by its settings.
    await published('beta', '2.1.0', { status: 'paused' });
    await published('beta', '1.5.0', { status: 'paused' }, { status: 'published' });
    await published('beta', '2.4.0', UNSIGNED);
    const beside = { '1.5.0': 'serving', '2.1.0': 'paused', '2.4.0': 'for nobody yet' };
    await expectStanding('beta', beside, '2.2.0 (from stable) for some, 1.5.0');
  });

  it('is in the overview as on the page of each channel (§4.17)', async () => {
    const { body } = await admin(node, 'GET', `apps?org=${tenant.org}`);
    const [app] = (body as { apps: { channels: ChannelOverview[] }[] }).apps;
    expect(app?.channels).toHaveLength(2);
    for (const { name, standing, newest } of app?.channels ?? []) {
      const page = await pageOf(name);
      expect(standing, name).toEqual(page.standing);
      const [highest] = page.releases;
      expect([newest?.version, newest?.standing.state]).toEqual([
        ...[highest?.version, highest?.standing.state],
      ]);
    }
  });
});
