// Tests that the standing of releases and channels is what devices are answered (docs/contract.md 4.17): each
// situation is made on a channel of its own, devices of each kind ask, and nobody may be offered what the
// standing says that nobody gets.

import { beforeAll, expect, it } from 'vitest';
import { servingText } from '../../src/console/format/serving.ts';
import type {
  ChannelDetail,
  ChannelOverview,
  ChannelReleases,
  ListedRelease,
} from '../../src/contract/console.ts';
import type { StandingState } from '../../src/contract/standing.ts';
import { IS_WHOLE_MATRIX } from '../support/matrix.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { admin, type CheckOptions, check, createTenant, type Tenant } from '../support/tenant.ts';

type Fields = Readonly<Record<string, unknown>>;
/** `stable` or another channel of the situation, then the version; a change where it is there already. */
type Step = readonly [version: string, fields?: Fields];
type Kind = Omit<CheckOptions, 'channel' | 'device'> & { readonly version?: string };

type Situation = {
  readonly steps: readonly Step[];
  /** Settings of the channel; it follows the channel with the steps of `followed`. */
  readonly settings?: Fields;
  readonly followed?: readonly Step[];
  /** Kinds of devices that ask; usually a new one on Linux. */
  readonly kinds?: readonly Kind[];
  /** State of each release, and the platforms or the version that goes with it. */
  readonly states: Readonly<Record<string, StandingState | string>>;
  /** What the channel serves, in words. */
  readonly serves?: string;
};

const url = 'https://dl.example.com/app';
const file = (platform: string, arch?: string, format?: string) => ({
  ...{ platform, url: `${url}.${format ?? 'bin'}`, signature: 'c2ln' },
  ...(arch === undefined ? {} : { arch }),
});
const on = (...platforms: readonly string[]) => ({
  artifacts: platforms.map((each) => file(...(each.split('/') as [string]))),
});
const LINUX = { platform: 'linux', arch: 'x86_64' };
const MAC = { platform: 'darwin', arch: 'aarch64' };
const WINDOWS = { platform: 'windows', arch: 'x86_64' };
const ALL = on('linux', 'darwin', 'windows');
const KINDS = [LINUX, MAC, WINDOWS];
const labelled = { targets: { matchLabels: { ring: ['early'] } } };
const where = (key: string, operator: string, ...values: string[]) => ({
  targets: { matchExpressions: [{ key, operator, values }] },
});
const PAUSED = { status: 'paused' };
const BACK = { status: 'rolled_back' };

const SITUATIONS: Readonly<Record<string, Situation>> = {
  'nothing published': { steps: [], states: {} },
  'one for all': { steps: [['1.0.0']], states: { '1.0.0': 'serving' }, serves: '1.0.0' },
  'one at 0 %': { steps: [['1.0.0', { rollout: 0 }]], states: { '1.0.0': 'for nobody yet' } },
  'one at 50 %': { steps: [['1.0.0', { rollout: 50 }]], states: { '1.0.0': 'rolling out' } },
  'one without files': {
    steps: [['1.0.0', { artifacts: [] }]],
    states: { '1.0.0': 'without files' },
  },
  'one paused': { steps: [['1.0.0', PAUSED]], states: { '1.0.0': 'paused' } },
  'one deprecated': {
    steps: [['1.0.0'], ['1.0.0', { status: 'deprecated' }]],
    states: { '1.0.0': 'deprecated' },
  },
  'one rolled back': { steps: [['1.0.0'], ['1.0.0', BACK]], states: { '1.0.0': 'rolled back' } },
  'one published again': {
    steps: [
      ['1.0.0', PAUSED],
      ['1.0.0', { status: 'published' }],
    ],
    states: { '1.0.0': 'serving' },
    serves: '1.0.0',
  },
  'an older one below': {
    steps: [['1.0.0'], ['2.0.0']],
    states: { '1.0.0': 'superseded by 2.0.0', '2.0.0': 'serving' },
    serves: '2.0.0',
  },
  'an older one that is published later': {
    steps: [['2.0.0'], ['1.0.0']],
    states: { '1.0.0': 'superseded by 2.0.0', '2.0.0': 'serving' },
  },
  'an older one at 45 % below (U4)': {
    steps: [['1.1.0', { rollout: 45 }], ['2.0.0']],
    states: { '1.1.0': 'superseded by 2.0.0', '2.0.0': 'serving' },
  },
  'an older one at 0 % below': {
    steps: [['1.1.0', { rollout: 0 }], ['2.0.0']],
    states: { '1.1.0': 'for nobody yet', '2.0.0': 'serving' },
  },
  'three, of which two are superseded (U5)': {
    steps: [['1.0.0'], ['1.1.0'], ['1.2.0']],
    states: {
      '1.0.0': 'superseded by 1.2.0',
      '1.1.0': 'superseded by 1.2.0',
      '1.2.0': 'serving',
    },
  },
  'a newer one at 50 %': {
    steps: [['1.0.0'], ['2.0.0', { rollout: 50 }]],
    states: { '1.0.0': 'serving', '2.0.0': 'rolling out' },
    serves: '1.0.0',
  },
  'a newer one at 0 % (U12)': {
    steps: [['1.0.0'], ['2.0.0', { rollout: 0 }]],
    states: { '1.0.0': 'serving', '2.0.0': 'for nobody yet' },
  },
  'two at 50 %': {
    steps: [['1.0.0'], ['1.5.0', { rollout: 50 }], ['2.0.0', { rollout: 50 }]],
    states: { '1.0.0': 'serving', '1.5.0': 'rolling out', '2.0.0': 'rolling out' },
  },
  'two at 50 % below one for all': {
    steps: [['1.0.0', { rollout: 50 }], ['1.5.0', { rollout: 50 }], ['2.0.0']],
    states: { '1.0.0': 'superseded by 2.0.0', '1.5.0': 'superseded by 2.0.0', '2.0.0': 'serving' },
  },
  'a newer one paused': {
    steps: [['1.0.0'], ['2.0.0', PAUSED]],
    states: { '1.0.0': 'serving', '2.0.0': 'paused' },
    serves: '1.0.0',
  },
  'a newer one deprecated': {
    steps: [['1.0.0'], ['2.0.0'], ['2.0.0', { status: 'deprecated' }]],
    states: { '1.0.0': 'serving', '2.0.0': 'deprecated' },
  },
  'a newer one without files': {
    steps: [['1.0.0'], ['2.0.0', { artifacts: [] }]],
    states: { '1.0.0': 'serving', '2.0.0': 'without files' },
    serves: '1.0.0',
  },
  'a newer one rolled back': {
    steps: [['1.0.0'], ['2.0.0'], ['2.0.0', BACK]],
    states: { '1.0.0': 'serving', '2.0.0': 'rolled back' },
    kinds: [LINUX, { version: '2.0.0' }],
  },
  'the way down from a rolled-back one below one for all': {
    steps: [['1.0.0'], ['2.0.0'], ['2.0.0', BACK], ['3.0.0']],
    states: {
      '1.0.0': 'superseded by 3.0.0, way down for 2.0.0',
      '2.0.0': 'rolled back',
      '3.0.0': 'serving',
    },
    kinds: [LINUX, { version: '2.0.0' }],
  },
  'nothing below a rolled-back one': {
    steps: [['2.0.0'], ['2.0.0', BACK], ['3.0.0', { rollout: 0 }]],
    states: { '2.0.0': 'rolled back', '3.0.0': 'for nobody yet' },
    kinds: [LINUX, { version: '2.0.0' }],
  },
  'a prerelease above': {
    steps: [['1.0.0'], ['2.0.0-beta.1']],
    states: { '1.0.0': 'superseded by 2.0.0-beta.1', '2.0.0-beta.1': 'serving' },
  },
  'a prerelease below its release': {
    steps: [['2.0.0-beta.1'], ['2.0.0']],
    states: { '2.0.0-beta.1': 'superseded by 2.0.0', '2.0.0': 'serving' },
  },
  'one for a label': {
    steps: [['1.0.0', labelled]],
    states: { '1.0.0': 'serving' },
    kinds: [LINUX, { query: 'l.ring=early' }],
    serves: '1.0.0 for some',
  },
  'one for a label above one for all': {
    steps: [['1.0.0'], ['2.0.0', labelled]],
    states: { '1.0.0': 'serving', '2.0.0': 'serving' },
    kinds: [LINUX, { query: 'l.ring=early' }],
    serves: '2.0.0 for some, 1.0.0',
  },
  'one for a label below one for all': {
    steps: [['1.0.0', labelled], ['2.0.0']],
    states: { '1.0.0': 'superseded by 2.0.0', '2.0.0': 'serving' },
    kinds: [LINUX, { query: 'l.ring=early' }],
  },
  'one for a label at 50 %': {
    steps: [['1.0.0'], ['2.0.0', { ...labelled, rollout: 50 }]],
    states: { '1.0.0': 'serving', '2.0.0': 'rolling out' },
    kinds: [LINUX, { query: 'l.ring=early' }],
  },
  'one for a platform': {
    steps: [
      ['1.0.0', ALL],
      ['2.0.0', { ...ALL, ...where('$platform', 'In', 'linux') }],
    ],
    states: { '1.0.0': 'serving on darwin, windows, 2.0.0', '2.0.0': 'serving' },
    kinds: KINDS,
    serves: '2.0.0 on linux for some, 1.0.0 on darwin, windows',
  },
  'one for a platform that it has no file for': {
    steps: [['1.0.0', where('$platform', 'In', 'darwin')]],
    states: { '1.0.0': 'for nobody yet' },
    kinds: KINDS,
  },
  'one for versions from 1.5 on': {
    steps: [['1.0.0'], ['2.0.0', where('$version', 'VersionGte', '1.5.0')]],
    states: { '1.0.0': 'serving', '2.0.0': 'serving' },
    kinds: [LINUX, { version: '1.5.0' }, { version: '1.6.0' }],
  },
  'one for versions below 0.2': {
    steps: [['1.0.0'], ['2.0.0', where('$version', 'VersionLt', '0.2.0')]],
    states: { '1.0.0': 'serving', '2.0.0': 'serving' },
    kinds: [LINUX, { version: '0.2.0' }, { version: '0.3.0' }],
  },
  'one for a single version': {
    steps: [['1.0.0'], ['2.0.0', where('$version', 'In', '0.9.0')]],
    states: { '1.0.0': 'serving', '2.0.0': 'serving' },
    kinds: [LINUX, { version: '0.9.0' }],
  },
  'a newer one on Linux alone (U15)': {
    steps: [
      ['3.0.0', ALL],
      ['3.1.0', on('linux')],
    ],
    states: { '3.0.0': 'serving on darwin, windows, 3.1.0', '3.1.0': 'serving' },
    kinds: KINDS,
    serves: '3.1.0 on linux, 3.0.0 on darwin, windows',
  },
  'a newer one on Linux at 50 %': {
    steps: [
      ['3.0.0', ALL],
      ['3.1.0', { ...on('linux'), rollout: 50 }],
    ],
    states: { '3.0.0': 'serving', '3.1.0': 'rolling out' },
    kinds: KINDS,
    serves: '3.0.0',
  },
  'releases for one platform each': {
    steps: [
      ['1.0.0', on('linux')],
      ['1.1.0', on('darwin')],
      ['1.2.0', on('windows')],
    ],
    states: { '1.0.0': 'serving', '1.1.0': 'serving', '1.2.0': 'serving' },
    kinds: KINDS,
    serves: '1.2.0 on windows, 1.1.0 on darwin, 1.0.0 on linux',
  },
  'all platforms superseded by one each': {
    steps: [
      ['1.0.0', on('linux', 'darwin')],
      ['1.1.0', on('darwin')],
      ['1.2.0', on('linux')],
    ],
    states: { '1.0.0': 'superseded by 1.2.0', '1.1.0': 'serving', '1.2.0': 'serving' },
    kinds: [LINUX, MAC],
  },
  'a newer one for one architecture': {
    steps: [
      ['1.0.0', on('darwin')],
      ['1.1.0', on('darwin/aarch64')],
    ],
    states: { '1.0.0': 'serving on darwin (other), 1.1.0', '1.1.0': 'serving' },
    kinds: [MAC, { platform: 'darwin', arch: 'x86_64' }],
  },
  'a newer one for one kind of installation': {
    steps: [
      [
        '1.0.0',
        { artifacts: [file('linux', undefined, 'AppImage'), file('linux', undefined, 'deb')] },
      ],
      ['1.1.0', { artifacts: [file('linux', undefined, 'AppImage')] }],
    ],
    states: { '1.0.0': 'serving on linux (other) (deb), 1.1.0', '1.1.0': 'serving' },
    kinds: [LINUX, { query: 'bundle=deb' }, { query: 'bundle=appimage' }],
  },
  'an unsigned one where signatures are required': {
    steps: [['1.0.0'], ['2.0.0', { artifacts: [{ platform: 'linux', url }] }]],
    settings: { requireSignature: true },
    states: { '1.0.0': 'serving', '2.0.0': 'for nobody yet' },
    serves: '1.0.0',
  },
  'a channel that follows, with nothing of its own (U14)': {
    steps: [],
    followed: [['2.0.0']],
    states: {},
    serves: '2.0.0 (from FOLLOWED)',
  },
  'a channel that follows, with a lower one of its own': {
    steps: [['1.0.0']],
    followed: [['2.0.0']],
    states: { '1.0.0': 'superseded by 2.0.0' },
    serves: '2.0.0 (from FOLLOWED)',
  },
  'a channel that follows, with a higher one of its own': {
    steps: [['3.0.0-rc.1']],
    followed: [['2.0.0']],
    states: { '3.0.0-rc.1': 'serving' },
    serves: '3.0.0-rc.1',
  },
  'a channel that follows, with the same version paused': {
    steps: [['2.0.0', PAUSED], ['1.0.0']],
    followed: [['2.0.0']],
    states: { '1.0.0': 'serving', '2.0.0': 'paused' },
    serves: '1.0.0',
  },
  'a channel that follows one that rolls out': {
    steps: [['1.0.0']],
    followed: [['2.0.0', { rollout: 50 }]],
    states: { '1.0.0': 'serving' },
    serves: '1.0.0',
  },
  'a channel that follows one that was rolled back': {
    steps: [['1.0.0']],
    followed: [['2.0.0'], ['2.0.0', BACK]],
    states: { '1.0.0': 'serving' },
    kinds: [LINUX, { version: '2.0.0' }],
  },
};

/**
 * Devices of a kind that ask: where shares are offered a release, so many that a quarter is somebody. Before
 * a release 100 ask everywhere.
 */
const DEVICES = IS_WHOLE_MATRIX ? { ofShares: 100, alike: 100 } : { ofShares: 50, alike: 5 };

serviceSuite('the standing of releases', (node) => {
  let tenant: Tenant;
  const names = new Map(Object.keys(SITUATIONS).map((name, index) => [name, `c${index}`]));
  const followedOf = (channel: string) => `${channel}-followed`;

  beforeAll(async () => {
    tenant = await createTenant(node);
    for (const [name, { followed, settings = {} }] of Object.entries(SITUATIONS)) {
      const channel = names.get(name) ?? '';
      if (followed !== undefined) await make('POST', 'channels', { name: followedOf(channel) });
      await make('POST', 'channels', { name: channel });
      const follows = followed === undefined ? {} : { follows: followedOf(channel) };
      if (followed === undefined && Object.keys(settings).length === 0) continue;
      await make('PATCH', 'channels', { name: channel, ...settings, ...follows });
    }
  });

  async function make(method: string, path: string, body: Fields): Promise<void> {
    const answer = await admin(node, method, path, { app: tenant.app, ...body });
    expect(answer.status, answer.text).toBeLessThan(300);
  }

  async function publishAll(channel: string, steps: readonly Step[]): Promise<void> {
    const there = new Set<string>();
    for (const [version, fields = {}] of steps) {
      const base = { channel, version };
      if (there.has(version)) await make('PATCH', 'releases', { ...base, ...fields });
      else await make('POST', 'releases', { ...base, ...on('linux'), ...fields });
      there.add(version);
    }
  }

  async function read<Answer>(path: string): Promise<Answer> {
    return (await admin(node, 'GET', path)).body as Answer;
  }

  /** Counts the versions that the devices of a kind are offered; `none` for no offer. */
  async function answersOf(channel: string, { version = '0.1.0', ...kind }: Kind, devices: number) {
    const counts = new Map<string, number>();
    await Promise.all(
      Array.from({ length: devices }, async (_, index) => {
        // Labels are kept, so that each kind has devices of its own.
        const device = `${channel}-${version}-${kind.platform}-${kind.query}-${index}`;
        const { body } = await check(node, tenant, version, { ...kind, channel, device });
        const offered = String(body?.version ?? 'none');
        counts.set(offered, (counts.get(offered) ?? 0) + 1);
      }),
    );
    return counts;
  }

  it.each(Object.entries(SITUATIONS))('%s', async (name, situation) => {
    const channel = names.get(name) ?? '';
    const { steps, followed = [], kinds = [LINUX], states, serves } = situation;
    await publishAll(followedOf(channel), followed);
    await publishAll(channel, steps);
    const place = `app=${tenant.app}&channel=${channel}`;
    const { releases } = await read<ChannelReleases>(`releases?${place}`);
    const { standing } = await read<ChannelDetail>(`channel?${place}`);
    const said = Object.fromEntries(releases.map((each) => [each.version, wordsOf(each)]));
    expect(said).toEqual(states);
    if (serves !== undefined) {
      const expected = serves.replace('FOLLOWED', followedOf(channel));
      expect(servingText(standing, channel)).toBe(expected);
    }
    const devices = standing.rolling.length > 0 ? DEVICES.ofShares : DEVICES.alike;
    const answers = await Promise.all(kinds.map((kind) => answersOf(channel, kind, devices)));
    for (const release of releases) {
      const counts = answers.map((each) => each.get(release.version) ?? 0);
      const most = Math.max(...counts);
      const { state, wayDownFor } = release.standing;
      if (state === 'rolling out') {
        expect(most, `${release.version} at ${release.rolloutPct} %`).toBeGreaterThan(0);
        expect(most).toBeLessThan(devices);
      } else if (state === 'serving' || wayDownFor.length > 0) {
        expect(most, `${release.version} is offered`).toBeGreaterThan(0);
      } else {
        expect(most, `${release.version} is offered to nobody`).toBe(0);
      }
    }
    // What the channel serves and rolls out is all that its new devices are offered.
    const offered = new Set([...standing.serving, ...standing.rolling].map((each) => each.version));
    for (const [index, kind] of kinds.entries()) {
      if ('version' in kind) continue;
      for (const each of answers[index]?.keys() ?? []) {
        if (each !== 'none') expect(offered).toContain(each);
      }
    }
  });

  it('the overview says the same of every channel as its page', async () => {
    const { apps } = await read<{ apps: { channels: ChannelOverview[] }[] }>(
      `apps?org=${tenant.org}`,
    );
    for (const { name, standing, newest } of apps[0]?.channels ?? []) {
      const place = `app=${tenant.app}&channel=${name}`;
      expect(standing, name).toEqual((await read<ChannelDetail>(`channel?${place}`)).standing);
      const { releases } = await read<ChannelReleases>(`releases?${place}`);
      const [highest] = releases;
      expect(newest?.version).toBe(highest?.version);
      expect(newest?.standing.state).toBe(highest?.standing.state);
    }
  });
});

function wordsOf({ standing }: ListedRelease): string {
  const { state, on: places, supersededBy, wayDownFor } = standing;
  const by = supersededBy === null ? '' : state === 'superseded' ? ` by ${supersededBy}` : '';
  const where = places.length === 0 ? '' : ` on ${places.join(', ')}, ${supersededBy}`;
  const down =
    wayDownFor.length === 0 || state !== 'superseded' ? '' : `, way down for ${wayDownFor}`;
  return `${state}${where}${by}${down}`;
}
