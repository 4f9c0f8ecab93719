// Tests the standing of releases and channels (docs/contract.md 4.17): one table of channels with the state
// of each release in words. Devices of every kind ask each channel, and are offered what its standing says.

import { describe, expect, it } from 'vitest';
import { servingText } from '../../../src/console/format/serving.ts';
import type { Artifact, TargetExpression } from '../../../src/contract/resource.ts';
import type { ReleaseStanding } from '../../../src/contract/standing.ts';
import type { Catalog } from '../../../src/domain/decision/catalog.ts';
import { decide } from '../../../src/domain/decision/decide.ts';
import { planUpdate } from '../../../src/domain/decision/plan.ts';
import type { SnapshotRelease } from '../../../src/domain/decision/serving-snapshot.ts';
import { standingsIn } from '../../../src/domain/decision/standing.ts';
import { installableBy } from '../../../src/updater/installable-by.ts';
import { catalog, device, fields, release, targeting } from '../sample.ts';

const URL = 'https://dl.example.com/app';
const where = (key: string, operator: TargetExpression['operator'], value: string) => ({
  targets: targeting({ matchExpressions: [{ key, operator, values: [value] }] }),
});

/** Words of a release in the table; any other word is its rollout, or the place of one of its files. */
const WORDS: Readonly<Record<string, Partial<SnapshotRelease>>> = {
  paused: { status: 'paused' },
  deprecated: { status: 'deprecated' },
  rolled_back: { status: 'rolled_back' },
  followed: { followed: true },
  'without-files': { artifacts: [] },
  unsigned: { artifacts: [{ platform: 'linux', url: URL }] },
  'for-ring': { targets: targeting({ matchLabels: { ring: ['early'] } }) },
  'for-linux': where('$platform', 'In', 'linux'),
  'for-darwin': where('$platform', 'In', 'darwin'),
  'for-arm64': where('$arch', 'In', 'arm64'),
  'from-1.5': where('$version', 'VersionGte', '1.5.0'),
  'for-0.9': where('$version', 'In', '0.9.0'),
};

/** Reads releases such as `1.0.0 linux darwin, 2.0.0 50% darwin/arm64 linux.deb`; by default for Linux. */
function releasesOf(text: string): readonly SnapshotRelease[] {
  if (text === '') return [];
  return text.split(', ').map((each) => {
    const [version = '', ...words] = each.split(' ');
    const parts: Partial<SnapshotRelease>[] = [];
    const files: Artifact[] = [];
    for (const word of words) {
      if (WORDS[word] !== undefined) parts.push(WORDS[word]);
      else if (word.endsWith('%')) parts.push({ rolloutPct: Number.parseInt(word, 10) });
      else files.push(fileFor(word));
    }
    const artifacts = files.length === 0 ? [fileFor('linux')] : files;
    return release(version, Object.assign({ artifacts }, ...parts));
  });
}

function fileFor(place: string): Artifact {
  const [, platform = '', arch, ending = ''] = /^(\w+)(?:\/(\w+))?(\.\w+)?$/.exec(place) ?? [];
  return { platform, ...(arch && { arch }), url: URL + ending, signature: 'c2ln' };
}

function wordsOf({ state, on, supersededBy, wayDownFor }: ReleaseStanding): string {
  const where = on.length === 0 ? '' : ` on ${on.join(', ')}, else ${supersededBy}`;
  const by = state === 'superseded' ? ` by ${supersededBy}` : '';
  const down = wayDownFor.length === 0 ? '' : `, way down for ${wayDownFor}`;
  return `${state}${where}${by}${down}`;
}

const MACHINES = ['linux/x86_64', 'darwin/aarch64', 'darwin/x86_64', 'windows/x86_64'];
const RUNNING = ['0.1.0', '0.2.0', '0.3.0', '0.9.0', '1.0.0', '1.5.0', '1.6.0', '2.0.0', '9.0.0'];
/** So many devices of a kind that half of the fleet is some of them, and not all. */
const IDS = Array.from({ length: 20 }, (_, index) => `device-${index}`);
/** Devices of each kind that the table tells apart. */
const KINDS = MACHINES.flatMap((machine) =>
  RUNNING.flatMap((running) =>
    [null, 'deb', 'appimage'].flatMap((bundle) =>
      [{}, { ring: 'early' }].map((labels) => {
        const asked = fields(running, ...(machine.split('/') as [string, string]));
        return { asked, bundle, devices: IDS.map((id) => device(id, labels)) };
      }),
    ),
  ),
);

/** Returns the versions that the devices of each kind are offered on their way up, or down. */
function askFor(served: Catalog, isDown: boolean): readonly (readonly (string | undefined)[])[] {
  return KINDS.flatMap(({ asked, bundle, devices }) => {
    const list = installableBy(served, { client: 'u', bundle, machine: asked });
    const plan = planUpdate(served, asked, list);
    if (plan.allowDowngrade !== isDown) return [];
    return [devices.map((who) => decide(plan, who).candidate?.release.source.version)];
  });
}

/** Number of the devices that a release is offered to, of the kind of which most are. */
function mostOf(kinds: ReturnType<typeof askFor>, version: string): number {
  return Math.max(0, ...kinds.map((offered) => offered.filter((each) => each === version).length));
}

/** Channels by their releases, with their standing; one that follows `stable` has releases of it. */
const CHANNELS: Readonly<Record<string, string>> = {
  '': 'serves nothing',
  '1.0.0': '1.0.0 serving; serves 1.0.0',
  '1.0.0 0%': '1.0.0 for nobody yet; serves nothing',
  '1.0.0 50%': '1.0.0 rolling out; serves nothing',
  '1.0.0 without-files': '1.0.0 without files; serves nothing',
  '1.0.0 paused': '1.0.0 paused; serves nothing',
  '1.0.0 deprecated': '1.0.0 deprecated; serves nothing',
  '1.0.0 rolled_back': '1.0.0 rolled back; serves nothing',
  // An older release below, whichever was published first (U4, U5).
  '1.0.0, 2.0.0': '2.0.0 serving; 1.0.0 superseded by 2.0.0; serves 2.0.0',
  '2.0.0, 1.0.0': '2.0.0 serving; 1.0.0 superseded by 2.0.0; serves 2.0.0',
  '1.1.0 0%, 2.0.0': '2.0.0 serving; 1.1.0 for nobody yet; serves 2.0.0',
  '2.0.0-beta.1, 2.0.0': '2.0.0 serving; 2.0.0-beta.1 superseded by 2.0.0; serves 2.0.0',
  // A newer release above, which is not for all (U12).
  '1.0.0, 2.0.0 50%': '2.0.0 rolling out; 1.0.0 serving; serves 1.0.0',
  '1.0.0, 2.0.0 0%': '2.0.0 for nobody yet; 1.0.0 serving; serves 1.0.0',
  '1.0.0, 1.5.0 50%, 2.0.0 50%':
    '2.0.0 rolling out; 1.5.0 rolling out; 1.0.0 serving; serves 1.0.0',
  '1.0.0 50%, 1.5.0 50%, 2.0.0':
    '2.0.0 serving; 1.5.0 superseded by 2.0.0; 1.0.0 superseded by 2.0.0; serves 2.0.0',
  '1.0.0, 2.0.0 without-files': '2.0.0 without files; 1.0.0 serving; serves 1.0.0',
  '1.0.0, 2.0.0 rolled_back': '2.0.0 rolled back; 1.0.0 serving; serves 1.0.0',
  '1.0.0, 2.0.0 rolled_back, 3.0.0':
    '3.0.0 serving; 2.0.0 rolled back; 1.0.0 superseded by 3.0.0, way down for 2.0.0; serves 3.0.0',
  // Releases for some of the devices.
  '1.0.0 for-ring': '1.0.0 serving; serves 1.0.0 for some',
  '1.0.0, 2.0.0 for-ring': '2.0.0 serving; 1.0.0 serving; serves 2.0.0 for some, 1.0.0',
  '1.0.0 for-ring, 2.0.0': '2.0.0 serving; 1.0.0 superseded by 2.0.0; serves 2.0.0',
  '1.0.0, 2.0.0 for-ring 50%': '2.0.0 rolling out; 1.0.0 serving; serves 1.0.0',
  '1.0.0 for-darwin': '1.0.0 for nobody yet; serves nothing',
  '1.0.0 for-darwin, 2.0.0': '2.0.0 serving; 1.0.0 for nobody yet; serves 2.0.0',
  '1.0.0, 2.0.0 from-1.5': '2.0.0 serving; 1.0.0 serving; serves 2.0.0 for some, 1.0.0',
  '1.0.0, 2.0.0 for-0.9': '2.0.0 serving; 1.0.0 serving; serves 2.0.0 for some, 1.0.0',
  '1.0.0 linux darwin, 2.0.0 linux darwin for-linux':
    '2.0.0 serving; 1.0.0 serving on darwin, else 2.0.0; ' +
    'serves 2.0.0 on linux for some, 1.0.0 on darwin',
  // Platforms, architectures and kinds of installation apart (U15).
  '3.0.0 linux darwin windows, 3.1.0 linux':
    '3.1.0 serving; 3.0.0 serving on darwin, windows, else 3.1.0; ' +
    'serves 3.1.0 on linux, 3.0.0 on darwin, windows',
  '1.0.0 linux darwin, 1.1.0 darwin, 1.2.0 linux':
    '1.2.0 serving; 1.1.0 serving; 1.0.0 superseded by 1.2.0; ' +
    'serves 1.2.0 on linux, 1.1.0 on darwin',
  '1.0.0 darwin, 1.1.0 darwin/aarch64':
    '1.1.0 serving; 1.0.0 serving on darwin (other), else 1.1.0; ' +
    'serves 1.1.0 on darwin/aarch64, 1.0.0 on darwin (other)',
  '1.0.0 darwin, 1.1.0 darwin for-arm64':
    '1.1.0 serving; 1.0.0 serving on darwin (other), else 1.1.0; ' +
    'serves 1.1.0 on darwin/aarch64 for some, 1.0.0 on darwin (other)',
  '1.0.0 linux.AppImage linux.deb, 1.1.0 linux.AppImage':
    '1.1.0 serving; 1.0.0 serving on linux (other) (deb), else 1.1.0; ' +
    'serves 1.1.0 on linux (other) (appimage), 1.0.0 on linux (other) (deb)',
  // Settings of the channel, and channels that follow another one (U14).
  'signed: 1.0.0, 2.0.0 unsigned': '2.0.0 for nobody yet; 1.0.0 serving; serves 1.0.0',
  '1.0.0, 2.0.0 followed': '2.0.0 serving; 1.0.0 superseded by 2.0.0; serves 2.0.0 (from stable)',
  '3.0.0-b, 2.0.0 followed': '3.0.0-b serving; 2.0.0 superseded by 3.0.0-b; serves 3.0.0-b',
  '1.0.0, 2.0.0 50% followed': '2.0.0 rolling out; 1.0.0 serving; serves 1.0.0',
};

describe('the standing of a channel', () => {
  it.each(Object.entries(CHANNELS))('of the releases %j: %s (§4.17)', (text, expected) => {
    const [, signed, rest = ''] = /^(signed: )?(.*)$/.exec(text) ?? [];
    const follows = text.includes('followed') ? { channel: 'beta', follows: 'stable' } : {};
    const served = catalog(releasesOf(rest), {
      requireSignature: signed !== undefined,
      ...follows,
    });
    const { releases, channel } = standingsIn(served);
    const known = [...served.byCanonical.values()].map(({ source: { id, version } }) => {
      return { version, ...(releases.get(id) as ReleaseStanding) };
    });
    const states = known.map((each) => `${each.version} ${wordsOf(each)}`);
    const serves = `serves ${servingText(channel, served.snapshot.channel) ?? 'nothing'}`;
    expect([...states, serves].join('; ')).toBe(expected);
    const [up, down] = [askFor(served, false), askFor(served, true)];
    for (const { version, state, wayDownFor } of known) {
      const most = mostOf(up, version);
      const isOffered = state === 'serving' || state === 'rolling out';
      expect([version, most > 0]).toEqual([version, isOffered]);
      if (state === 'rolling out') expect(most, version).toBeLessThan(IDS.length);
      if (!isOffered) expect(mostOf(down, version) > 0, version).toBe(wayDownFor.length > 0);
    }
    // What the channel serves and rolls out is all that devices are offered on their way up.
    const listed = [...channel.serving, ...channel.rolling].map(({ version }) => version);
    expect(new Set(up.flat().filter((each) => each !== undefined))).toEqual(new Set(listed));
  });

  it('of a release that a plan paused is that its guard has stopped it (§4.17)', () => {
    const served = catalog(releasesOf('1.0.0 paused'));
    const standingBy = (by: string) => {
      const change = { at: '2026-01-02T03:04:05.678Z', by, reason: null };
      return standingsIn(served, new Map([['rel-1.0.0', change]])).releases.get('rel-1.0.0');
    };
    expect(standingBy('plan:pln_1')).toMatchObject({ state: 'stopped by its guard' });
    expect(standingBy('key:ci')).toMatchObject({ state: 'paused', change: { by: 'key:ci' } });
  });
});
