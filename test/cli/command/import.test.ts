// Tests the command that imports releases from elsewhere (docs/operating/commands.md). The forms of GitHub's
// answers are tested in ../build/github-releases.test.ts.

import { describe, expect, it } from 'vitest';
import { BuildShell, URL_BASE } from '../../support/build-shell.ts';
import type { Json } from '../../support/tenant.ts';

/** A SHA-512 in base64. */
const SUM = Buffer.alloc(64, 7).toString('base64');

describe('import', () => {
  const shell = new BuildShell();
  const github = (content: unknown) => [
    ...['import', '--app', 'notes', '--channel', 'stable', '--github-json'],
    shell.write('releases.json', typeof content === 'string' ? content : JSON.stringify(content)),
  ];
  const latest = (text: string, name = 'latest-linux.yml') => [
    ...['import', '--app', 'notes', '--channel', 'stable', '--latest-yml', shell.write(name, text)],
  ];
  const update = (url: string, more = '', sum = SUM) =>
    `version: 1.2.3\nfiles:\n  - url: ${url}\n    sha512: ${sum}\n${more}`;
  const APP = `${URL_BASE}/a-linux.AppImage`;
  const STAGED = 'stagingPercentage: 10\n';
  const OF_SOME = '--rollout is missing: latest-linux.yml offers the version to 10 % of devices';

  const release = (tag: string, day: number, more: Json = {}) => ({
    ...{ tag_name: tag, draft: false, prerelease: false, body: tag },
    ...{ created_at: '2026-01-01T00:00:00Z', published_at: `2026-01-0${day}T00:00:00Z` },
    assets: ['a-linux.zip', 'sums.txt'].map((name) => ({
      ...{ name, state: 'uploaded', size: 3, browser_download_url: `${URL_BASE}/${tag}/${name}` },
    })),
    ...more,
  });
  const ALL = [
    release('v2.0.0', 4),
    release('nightly', 3),
    release('v2.0.0-rc.1', 3, { prerelease: true }),
    release('app-v1.0.0', 2),
    release('v9.0.0', 5, { draft: true }),
  ];

  it("publishes a repository's releases, oldest first, at 100 %, and again without harm (Command line)", async () => {
    const outcomes = async (content: unknown) =>
      (await shell.json(...github(content))).releases as Json[];
    const brought = await outcomes(ALL);
    expect(brought[0]).toMatchObject({ passedOver: ['sums.txt'] });
    expect(brought.map(({ version, outcome }) => `${version} ${outcome}`)).toEqual([
      '1.0.0 published',
      'nightly passed over: its tag is no version',
      'v2.0.0-rc.1 passed over: a prerelease is not for stable',
      '2.0.0 published',
      'v9.0.0 passed over: a draft',
    ]);
    const artifacts = (tag: string) => [
      { platform: 'linux', url: `${URL_BASE}/${tag}/a-linux.zip`, size: 3 },
    ];
    const served = { channel: 'stable', rolloutPct: 100 };
    expect(shell.releases).toMatchObject([
      { version: '1.0.0', notes: 'app-v1.0.0', ...served, artifacts: artifacts('app-v1.0.0') },
      { version: '2.0.0', notes: 'v2.0.0', ...served, artifacts: artifacts('v2.0.0') },
    ]);
    const pages = [ALL.slice(0, 2), ALL.slice(2)];
    for (const again of [pages, pages.map((page) => JSON.stringify(page)).join('')]) {
      expect((await outcomes(again)).map(({ outcome }) => outcome)).toContain('already there');
    }
    expect(shell.releases).toHaveLength(2);
  });

  it('says that a full page may be the first of several (Command line)', async () => {
    const full = Array.from({ length: 30 }, (_, index) => release(`nightly-${index}`, 3));
    const notice =
      /releases\.json has 30 releases, which is a full page: if there are more, save gh api/;
    const args = github(full);
    expect(await shell.json(...args)).toMatchObject({ notice: expect.stringMatching(notice) });
    expect((await shell.sluice(args)).stdout).toMatch(notice);
  });

  it('publishes what an update file names (Command line)', async () => {
    expect(await shell.json(...latest(update(APP)))).toEqual({
      releases: [{ version: '1.2.3', outcome: 'published' }],
    });
    const artifact = { platform: 'linux', arch: 'x86_64', url: APP, sha512: SUM };
    expect(shell.releases).toMatchObject([{ version: '1.2.3', artifacts: [artifact] }]);
  });

  it.each<[what: string, args: () => string[], code: number, words: string]>([
    ['no absolute address', () => latest(update('a.AppImage')), 1, 'has no absolute address'],
    ['no file', () => latest(update(`${URL_BASE}/sums.txt`)), 1, 'names no file for a'],
    ['no update file', () => [...latest('').slice(0, -1), 'none.yml'], 1, 'no such file: none.yml'],
    ['no list of releases', () => github({}), 1, 'is no list of releases'],
    ['a tag that is none', () => github([{ tag_name: 1 }]), 1, '[0].tag_name must be a text'],
    ['no file of GitHub', () => [...github('').slice(0, -1), 'none'], 1, 'no such file: none'],
    ['neither', () => github('').slice(0, -2), 2, 'one of --github-json and --latest-yml is'],
    ['a file for some of the devices', () => latest(update(APP, STAGED)), 2, OF_SOME],
  ])('%s is one line, and nothing is asked (Command line)', async (_, args, code, words) => {
    await shell.expectEnd(args(), code, words);
    expect(shell.asked).toEqual([]);
  });

  it('a file for some of the devices is published as --rollout says, one for all at 100 % (Command line)', async () => {
    await shell.json(...latest(update(APP, STAGED)), '--rollout', '7');
    await shell.json(...latest(update(APP, 'stagingPercentage: 100\n').replace('1.2.3', '1.2.4')));
    expect(shell.releases).toMatchObject([{ rolloutPct: 7 }, { rolloutPct: 100 }]);
  });

  it('waits as long as a service asks whose limit is reached, and then goes on (Command line)', async () => {
    shell.instead = () =>
      shell.asked.length === 1
        ? [429, { error: 'Rate limit exceeded' }, { 'retry-after': '1' }]
        : undefined;
    const { code, stdout } = await shell.sluice(latest(update(APP)));
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^1\.2\.3 +published/m)]);
    expect(shell.asked).toHaveLength(3);
  });

  it('says what speaks against a release, and leaves one with errors out unless it is forced (Command line)', async () => {
    const more = `  - url: ${URL_BASE}/b-arm64.deb\n    sha512: ${SUM}\n`;
    const file = (sum: string) => latest(update('http://h.example.com/a.AppImage', more, sum));
    const stopped = await shell.sluice(file('abc='));
    expect([stopped.code, stopped.stderr, shell.releases]).toEqual([1, '', []]);
    expect(stopped.stdout).toMatch(/^1\.2\.3: error: a\.AppImage: sha512: Is no SHA-512: /m);
    expect(stopped.stdout).toMatch(/^1\.2\.3 +stopped \(1 error: --force publishes/m);
    const good = await shell.sluice(file(SUM));
    expect(good.stdout).toMatch(/^1\.2\.3: warning: a\.AppImage: url: Is not https$/m);
    shell.releases = [];
    expect(await shell.json(...file('abc='), '--force')).toMatchObject({
      releases: [{ outcome: 'published', findings: [{ severity: 'error' }, {}] }],
    });
  });
});
