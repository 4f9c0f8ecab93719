// Tests that no command ends in a stack, whatever answers it: another program at the address, a proxy, or a
// service of another version. Each command runs with the example of its help.

import { mkdirSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EXAMPLES } from '../../src/cli/command/command-help.ts';
import { loopbackServer } from '../support/loopback-server.ts';
import { removeFolder, temporaryFolder } from '../support/server-process.ts';
import { runSluiceHere } from '../support/sluice-command.ts';

const ONE_LINE = /^sluice: [^\n]+\n$/;
/** They ask no service. */
const LOCAL = ['serve', 'edge', 'doctor', 'migrate', 'move'];
const ASKING = Object.entries(EXAMPLES)
  .filter(([name]) => !LOCAL.includes(name))
  .map(([name, example]): [string, string] => [name, example.replace('--json', '')]);

const APPROVAL = {
  ...{ id: 'apr_1', status: 'pending', requestedBy: 'ci', reason: null, effect: null },
  ...{ createdAt: '2026-01-01T00:00:00.000Z', expiresAt: '2026-01-08T00:00:00.000Z' },
  ...{ decidedBy: null, decidedAt: null, result: null },
  url: 'https://updates.example.com/console/approvals/apr_1',
  request: {
    ...{ operation: 'publishRelease', organization: 'org_1', app: 'notes' },
    ...{ channel: 'stable', version: '1.4.0' },
  },
};

/** Answers of what is not the service, by name: status, type and body. */
const STRANGERS: readonly (readonly [string, number, string, string])[] = [
  ['200 with a page', 200, 'text/html', '<html>Welcome</html>'],
  ['200 with nothing', 200, 'application/json', ''],
  ['200 with a list', 200, 'application/json', '[]'],
  ['200 with null', 200, 'application/json', 'null'],
  ['202 with nothing', 202, 'application/json', ''],
  ['202 with a page', 202, 'text/html', '<html>Welcome</html>'],
  ['204', 204, '', ''],
];
/** Refusals, and words of the line that tells them. */
const REFUSALS: readonly (readonly [string, number, string, string, RegExp])[] = [
  ['302 with a page', 302, 'text/html', '<html>Sign in</html>', /names http:\/\/127.*\/login/],
  ['401', 401, 'application/json', '{"error":"Invalid or revoked API key"}', /Invalid or revoked/],
  ['404 with a page', 404, 'text/html', '<html>Not here</html>', /SLUICE_URL must be the address/],
  ['502 with a page', 502, 'text/html', '<html>Bad gateway</html>', /the service answered 502$/m],
];

describe('a command says in one line what answered', () => {
  let server: Awaited<ReturnType<typeof loopbackServer>>;
  let folder: string;
  let answer: (response: ServerResponse) => void;

  beforeAll(async () => {
    server = await loopbackServer((request, response) => {
      request.resume();
      answer(response);
    });
    folder = temporaryFolder('sluice-answers-');
    mkdirSync(join(folder, 'dist'));
    writeFileSync(join(folder, 'dist', 'Notes-1.4.0-linux-x86_64.AppImage'), 'a build');
    const assets = [{ name: 'Notes-1.4.0.AppImage', browser_download_url: 'https://x.example/a' }];
    const release = { tag_name: 'v1.4.0', draft: false, prerelease: false, assets };
    const releases = [{ ...release, created_at: '2026-01-01T00:00:00Z' }];
    writeFileSync(join(folder, 'releases.json'), JSON.stringify(releases));
  });
  afterAll(() => {
    server.close();
    removeFolder(folder);
  });

  const answering = (status: number, type: string, body: string) => {
    answer = (response) =>
      response.writeHead(status, { 'content-type': type, location: '/login' }).end(body);
  };

  function run(name: string, example: string) {
    const args = (example.match(/"[^"]*"|\S+/g) ?? []).map((arg) =>
      /^(?:dist|releases\.json|ledger\.tar\.gz)$/.test(arg)
        ? join(folder, arg)
        : arg.replaceAll('"', ''),
    );
    return runSluiceHere([...name.split(' '), ...args], {
      SLUICE_URL: `http://127.0.0.1:${server.port}`,
      ...{ SLUICE_KEY: 'sluice_x', ADMIN_TOKEN: 'token', DATA_DIR: folder },
    });
  }

  it.each(STRANGERS)('%s: it is not the service', async (_, status, type, body) => {
    answering(status, type, body);
    for (const [name, example] of ASKING) {
      const { code, stdout, stderr } = await run(name, example);
      // What was erased is answered with nothing.
      if (name === 'device erase' && status === 204) continue;
      expect([name, code, stdout.split('\n').at(-1)]).toEqual([name, 1, '']);
      expect(stderr, name).toMatch(ONE_LINE);
      expect(stderr, name).toMatch(
        /^sluice: (?:\S+: )?what answers at http:\S+ is not the service$/m,
      );
    }
  });

  it.each(REFUSALS)('%s: it is a refusal', async (_, status, type, body, words) => {
    answering(status, type, body);
    for (const [name, example] of ASKING) {
      const { code, stderr } = await run(name, example);
      expect([name, code], stderr).toEqual([name, 1]);
      expect(stderr, name).toMatch(ONE_LINE);
      expect(stderr, name).toMatch(words);
    }
  });

  it('202 with an approval: every command says what waits', async () => {
    answering(202, 'application/json', JSON.stringify({ approval: APPROVAL }));
    for (const [name, example] of ASKING) {
      const { code, stdout, stderr } = await run(name, example);
      expect([name, code, stderr]).toEqual([name, 0, '']);
      expect(stdout, name).toMatch(/waits for an approval: apr_1|^Waits for an approval: /m);
    }
  });

  it.each([200, 202])('%s of another version: a missing field is told', async (status) => {
    answering(status, 'application/json', '{}');
    const told: string[] = [];
    for (const [name, example] of ASKING) {
      const { code, stdout, stderr } = await run(name, example);
      expect([name, stdout === '' && stderr === '']).toEqual([name, false]);
      if (code === 0) continue;
      expect(stderr, name).toMatch(ONE_LINE);
      told.push(name);
    }
    expect(told).toContain('devices');
    expect(told).toContain('release promote');
    expect(told).toContain('notify test');
  });
});
