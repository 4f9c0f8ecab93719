// Tests the commands of publishers beside the one that publishes: steering, promoting, withdrawing,
// explaining, importing and listing (docs/operating/commands.md).

import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loopbackServer } from '../support/loopback-server.ts';
import { ADMIN_TOKEN } from '../support/node.ts';
import { auditOf, type Json } from '../support/published.ts';
import { PublisherShell, URL_BASE } from '../support/publisher-shell.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { admin, check, report } from '../support/tenant.ts';

/** A SHA-512 in base64. */
const SUM = Buffer.alloc(64, 7).toString('base64');

/** An update file of one file, by name and content. */
const latestLinux = [
  'latest-linux.yml',
  `version: 1.2.3\nfiles:\n  - url: ${URL_BASE}/a.AppImage\n    sha512: ${SUM}\n`,
] as const;

serviceSuite("publishers' commands", (node) => {
  const shell = new PublisherShell(node);

  it('rollout, pause, resume, deprecate and rollback steer, with a reason for the audit (Command line)', async () => {
    await shell.json(...shell.publish([shell.write('a-linux.zip')], '--rollout', '5'));
    const steer = async (...args: string[]) => {
      const { release } = await shell.json('release', ...args, ...shell.name());
      const { rolloutPct, status } = release as Json;
      return [rolloutPct, status];
    };
    expect(await steer('rollout', '40')).toEqual([40, 'published']);
    expect(await steer('pause', '--reason', 'too many crashes')).toEqual([40, 'paused']);
    const [entry] = await auditOf(node, shell.tenant);
    expect(entry).toMatchObject({ reason: 'too many crashes' });
    expect(await steer('resume', '--dry-run')).toEqual([40, 'published']);
    expect((await check(node, shell.tenant, '1.0.0', { platform: 'linux' })).status).toBe(204);
    expect(await steer('resume')).toEqual([40, 'published']);
    expect(await steer('deprecate')).toEqual([40, 'deprecated']);
    expect(await steer('resume')).toEqual([40, 'published']);
    expect(await steer('rollback')).toEqual([40, 'rolled_back']);
  });

  it('promote, withdraw, list and show (Command line)', async () => {
    await shell.json(...shell.publish([shell.write('a-linux.zip')]));
    const moved = [
      '--app',
      shell.tenant.app,
      '--from',
      'stable',
      '--to',
      'beta',
      '--version',
      '1.2.3',
    ];
    expect(await shell.json('release', 'promote', ...moved, '--paused')).toMatchObject({
      release: { channel: 'beta', status: 'paused' },
    });
    const listed = await shell.sluice(['release', 'list', '--app', shell.tenant.app]);
    const [head = '', ...rows] = listed.stdout.trimEnd().split('\n');
    expect(head).toMatch(/^VERSION +APP +CHANNEL +STATE +ROLLOUT +FILES +PUBLISHED$/);
    expect(rows.map((row) => row.split(/ {2,}/)[3])).toEqual(['paused', 'serving']);
    expect(rows.map((row) => row.indexOf(shell.tenant.app))).toEqual(
      [0, 0].map(() => head.indexOf('APP')),
    );
    expect(listed.stdout).not.toContain('\u001b');
    const shown = await shell.sluice(['release', 'show', ...shell.name()]);
    expect(shown.stdout).toMatch(/^release: \S+ 1\.2\.3 on stable$/m);
    expect(shown.stdout).toMatch(/^rollout: 100 %\ntargets: every device\n/m);
    expect(shown.stdout).toMatch(
      /^FILE +PLATFORM +ARCH +FORMAT +SIGNED +SIZE +ADDRESS\na-linux\.zip/m,
    );
    const { release } = await shell.json('release', 'withdraw', ...shell.name('beta'));
    expect(release).toMatchObject({ channel: 'beta', version: '1.2.3' });
    const gone = ['release', 'show', ...shell.name('beta')];
    await shell.expectEnd(gone, 1, /^sluice: Unknown release "1\.2\.3" on beta: there is none\n$/);
    expect(await shell.json('release', 'list', '--channel', 'stable')).toMatchObject({ total: 1 });
  });

  it('list: a key that may not read gets the status of the release that it names (Command line)', async () => {
    await shell.json(...shell.publish([shell.write('a-linux.zip')], '--paused'));
    const list = ['release', 'list', ...shell.name()];
    const limits = { org: shell.tenant.org, name: 'ci', may: ['publish'] };
    const { body } = await admin(node, 'POST', 'keys', limits);
    await shell.json('release', 'resume', ...shell.name());
    const stateOf = async (env?: NodeJS.ProcessEnv) =>
      (await shell.sluice(list, env)).stdout.split('\n')[1]?.split(/ {2,}/)[3];
    expect(await stateOf()).toBe('serving');
    expect(await stateOf({ SLUICE_KEY: String(body?.secret) })).toBe('published');
    expect(await shell.json(...list)).toMatchObject({
      releases: [{ standing: { state: 'serving' } }],
    });
  });

  it('explain: what a device gets, and why not the others (Command line)', async () => {
    await shell.json(...shell.publish([shell.write('a-linux.zip')], '--rollout', '0'));
    await report(node, shell.tenant, [{ deviceId: 'd 1', version: '1.0.0', platform: 'linux' }]);
    const args = ['explain', '--app', shell.tenant.app, '--device', 'd 1'];
    const { stdout } = await shell.sluice(args);
    expect(stdout).toContain('outside-cohort: nothing');
    expect(stdout).toMatch(/^1\.2\.3 +stable +outside-cohort +\d+ +0/m);
    expect(await shell.json(...args)).toMatchObject({ decision: { update: null } });
  });

  it('a name that is not known is refused with those that are (Command line)', async () => {
    const { app } = shell.tenant;
    await shell.json(...shell.publish([shell.write('a-linux.zip')]));
    const pause = (...named: string[]) => ['release', 'pause', ...named, '--version', '1.2.3'];
    const wrong: readonly (readonly [string[], string])[] = [
      [
        pause('--app', 'notse', '--channel', 'stable'),
        `Unknown app "notse": this key knows ${app}`,
      ],
      [pause('--app', app, '--channel', 'stabel'), `"stabel": ${app} has beta, stable`],
      [
        ['release', 'pause', '--app', app, '--channel', 'stable', '--version', '1.2.4'],
        'Unknown release "1.2.4" on stable: the newest are 1.2.3',
      ],
    ];
    for (const [args, words] of wrong) await shell.expectEnd(args, 1, words);
    const list = ['app', 'list', '--org', 'org_x'];
    await shell.expectEnd(list, 1, /^sluice: Unknown organization "org_x": there are org_/, {
      ADMIN_TOKEN,
    });
    const limits = { org: shell.tenant.org, name: 'ci', may: ['control'] };
    const { body } = await admin(node, 'POST', 'keys', limits);
    const env = { SLUICE_KEY: String(body?.secret) };
    await shell.expectEnd(wrong[0]?.[0] ?? [], 1, /^sluice: Unknown app\n$/, env);
  });

  it('import: a file that GitHub did not answer is refused in words, with the place (Command line)', async () => {
    const command = (file: string) => [
      ...['import', '--app', shell.tenant.app, '--channel', 'stable', '--github-json', file],
    ];
    const cases = {
      '{}': 'is no list of releases',
      '[{ "tag_name": "v1", "draft": "no", "prerelease": false, "created_at": "", "assets": [] }]':
        "is no answer of GitHub's releases: [0].draft must be true or false",
    };
    for (const [text, words] of Object.entries(cases)) {
      await shell.expectEnd(command(shell.write('releases.json', text)), 1, words);
    }
  });

  it("import: a repository's releases, oldest first, at 100 %, and again without harm (Command line)", async () => {
    const at = (day: number) => `2026-01-0${day}T00:00:00Z`;
    const entry = (tag: string, day: number, more: Json = {}) => ({
      ...{ tag_name: tag, draft: false, prerelease: false, body: tag, created_at: at(1) },
      published_at: at(day),
      assets: [
        {
          name: 'a-linux.zip',
          state: 'uploaded',
          size: 3,
          browser_download_url: `${URL_BASE}/${tag}/a.zip`,
        },
        { name: 'sums.txt', state: 'uploaded', size: 3, browser_download_url: `${URL_BASE}/s` },
      ],
      ...more,
    });
    const all = [
      entry('v2.0.0', 4),
      entry('nightly', 3),
      entry('v2.0.0-rc.1', 3, { prerelease: true }),
      entry('app-v1.0.0', 2),
      entry('v9.0.0', 5, { draft: true }),
    ];
    const file = shell.write('releases.json', JSON.stringify(all));
    const args = [
      'import',
      '--app',
      shell.tenant.app,
      '--channel',
      'stable',
      '--github-json',
      file,
    ];
    const outcomes = async () => (await shell.json(...args)).releases as Json[];
    const brought = await outcomes();
    expect(brought[0]).toMatchObject({ passedOver: ['sums.txt'] });
    const first = brought.map(({ version, outcome }) => `${version} ${outcome}`);
    expect(first.join('; ')).toBe(
      '1.0.0 published; nightly passed over: its tag is no version; ' +
        'v2.0.0-rc.1 passed over: a prerelease is not for stable; ' +
        '2.0.0 published; v9.0.0 passed over: a draft',
    );
    const pages = [all.slice(0, 2), all.slice(2)];
    for (const again of [
      JSON.stringify(pages),
      pages.map((page) => JSON.stringify(page)).join(''),
    ]) {
      shell.write('releases.json', again);
      expect((await outcomes()).map(({ outcome }) => outcome)).toContain('already there');
    }
    const full = Array.from({ length: 30 }, (_, index) => entry(`nightly-${index}`, 3));
    shell.write('releases.json', JSON.stringify(full));
    const notice =
      /releases\.json has 30 releases, which is a full page: if there are more, save gh api/;
    expect(await shell.json(...args)).toMatchObject({ notice: expect.stringMatching(notice) });
    expect((await shell.sluice(args)).stdout).toMatch(notice);
    const artifacts = (tag: string) => [
      { platform: 'linux', url: `${URL_BASE}/${tag}/a.zip`, size: 3 },
    ];
    expect(await shell.releases()).toMatchObject([
      { version: '2.0.0', rolloutPct: 100, artifacts: artifacts('v2.0.0') },
      { version: '1.0.0', rolloutPct: 100, artifacts: artifacts('app-v1.0.0') },
    ]);
  });

  it('import: what an update file names, and files that are none in one line (Command line)', async () => {
    const update = `version: 1.2.3\nfiles:\n  - url: ${URL_BASE}/a-linux.AppImage\n    sha512: ${SUM}\n`;
    const named = ['import', '--app', shell.tenant.app, '--channel', 'stable'];
    const file = shell.write('latest-linux.yml', update);
    expect(await shell.json(...named, '--latest-yml', file)).toEqual({
      releases: [{ version: '1.2.3', outcome: 'published' }],
    });
    const wrong = [
      ['--latest-yml', shell.write('a.yml', 'version: 1.0.0\nfiles:\n  - url: a-linux.AppImage\n')],
      ['--latest-yml', join(shell.folder, 'none.yml')],
      ['--github-json', shell.write('a.json', '{}')],
      ['--github-json', shell.write('b.json', '[{"tag_name": 1}]')],
      ['--github-json', shell.write('c.json', 'not json')],
      ['--github-json', join(shell.folder, 'none.json')],
    ];
    for (const flags of wrong) await shell.expectEnd([...named, ...flags], 1, /./);
  });

  it('import and publish: a file for some of the devices asks how many get it here (Command line)', async () => {
    const entry = `  - url: ${URL_BASE}/a-linux.AppImage\n    sha512: ${SUM}\n`;
    const file = (percentage: string) =>
      shell.write(
        'latest-linux.yml',
        `version: 1.2.3\nfiles:\n${entry}stagingPercentage: ${percentage}\n`,
      );
    const args = ['import', '--app', shell.tenant.app, '--channel', 'stable', '--latest-yml'];
    const words =
      '--rollout is missing: latest-linux.yml offers the version to 10 % of devices (stagingPercentage)';
    await shell.expectEnd([...args, file('10')], 2, words);
    await shell.expectEnd(shell.publish([file('10'), shell.write('a-linux.AppImage')]), 2, words);
    expect(await shell.releases()).toEqual([]);
    await shell.json(...args, file('10'), '--rollout', '7');
    expect(await shell.releases()).toMatchObject([{ version: '1.2.3', rolloutPct: 7 }]);
    await shell.json('release', 'withdraw', ...shell.name());
    await shell.json(...args, file('100'));
    expect(await shell.releases()).toMatchObject([{ rolloutPct: 100 }]);
  });

  it('publish: an update file gives its files addresses, not the others beside it (Command line)', async () => {
    const args = shell.publish([shell.write(...latestLinux), shell.write('b-linux.zip')]);
    const without = args.filter((arg) => arg !== '--url-base' && arg !== URL_BASE);
    const words = '--url-base is missing: 1 of the files would have no address';
    await shell.expectEnd(without, 2, words);
  });

  it('import: waits as long as a service asks whose limit is reached, and then goes on (Command line)', async () => {
    let calls = 0;
    const limited = await loopbackServer((_, response) => {
      calls += 1;
      const headers = { 'content-type': 'application/json', 'retry-after': '1' };
      response.writeHead(calls === 1 ? 429 : 200, headers);
      response.end(calls === 1 ? '{"error":"Rate limit exceeded"}' : '{"findings":[]}');
    });
    const args = ['import', '--app', shell.tenant.app, '--channel', 'stable', '--latest-yml'];
    const env = { SLUICE_URL: `http://127.0.0.1:${limited.port}` };
    const { code, stdout } = await shell.sluice([...args, shell.write(...latestLinux)], env);
    limited.close();
    expect([code, calls, stdout]).toEqual([0, 3, expect.stringMatching(/^1\.2\.3 +published/m)]);
  });

  it('import: says what speaks against a release, and leaves one with errors out (Command line)', async () => {
    const sums = [SUM, 'abc='];
    const args = ['import', '--app', shell.tenant.app, '--channel', 'stable', '--latest-yml'];
    const file = (sum: string) =>
      shell.write(
        'latest-linux.yml',
        `version: 1.2.3\nfiles:\n  - url: http://h.example.com/a.AppImage\n    sha512: ${sum}\n` +
          `  - url: ${URL_BASE}/b-arm64.deb\n    sha512: ${SUM}\n`,
      );
    const [good, bad] = sums.map((sum) => () => shell.sluice([...args, file(sum)]));
    const stopped = await bad?.();
    expect([stopped?.code, stopped?.stderr]).toEqual([1, '']);
    expect(stopped?.stdout).toMatch(/^1\.2\.3: error: a\.AppImage: sha512: Is no SHA-512: /m);
    expect(stopped?.stdout).toMatch(/^1\.2\.3 +stopped \(1 error: --force publishes/m);
    expect(await shell.releases()).toEqual([]);
    expect((await good?.())?.stdout).toMatch(/^1\.2\.3: warning: a\.AppImage: url: Is not https$/m);
    await shell.json('release', 'withdraw', ...shell.name());
    const forced = await shell.json(...args, file('abc='), '--force');
    expect(forced).toMatchObject({
      releases: [{ outcome: 'published', findings: [{ severity: 'error' }, {}] }],
    });
  });

  it('webhook enable: says that no code host reaches an address of this machine (Command line)', async () => {
    const args = ['webhook', 'enable', '--app', shell.tenant.app, '--provider', 'github'];
    const { stdout } = await shell.sluice(args, { ADMIN_TOKEN });
    expect(stdout).toMatch(/^url: http:\/\/127\.0\.0\.1:/m);
    expect(stdout).toMatch(/^A code host on the internet cannot reach this address: PUBLIC_URL /m);
    const json = await shell.sluice([...args, '--json'], { ADMIN_TOKEN });
    expect(JSON.parse(json.stdout)).toMatchObject({ secret: expect.any(String) });
    expect(json.stderr).toBe('');
  });

  it('org, app, channel and key list: tables for people, one document for scripts (Command line)', async () => {
    const env = { ADMIN_TOKEN };
    const lists: readonly (readonly [string[], string, Json])[] = [
      [['org', 'list'], 'organizations', { id: shell.tenant.org }],
      [['app', 'list', '--org', shell.tenant.org], 'apps', { ref: shell.tenant.app }],
      [['channel', 'list', '--app', shell.tenant.app], 'channels', { name: 'beta', follows: null }],
      [['key', 'list', '--org', shell.tenant.org], 'keys', { id: shell.tenant.keyId, apps: null }],
    ];
    for (const [args, as, row] of lists) {
      const { code, stdout, stderr } = await shell.sluice([...args, '--json'], env);
      expect([code, stderr]).toEqual([0, '']);
      expect((JSON.parse(stdout) as Record<string, Json[]>)[as]).toContainEqual(
        expect.objectContaining(row),
      );
      const table = await shell.sluice(args, env);
      expect(table.stdout).toMatch(/^[A-Z][A-Z ]+\n/);
      expect(table.stdout).toContain(String(Object.values(row)[0]));
    }
  });
});
