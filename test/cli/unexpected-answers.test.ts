// Tests that no command ends in a stack, whatever answers it: another program at the address, a proxy, or a
// service of another version. Each command runs with the example of its help.

import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { ServiceClient } from '../../src/cli/call/service-client.ts';
import { EXAMPLES } from '../../src/cli/command/command-help.ts';
import { BuildFolder } from '../support/build-folder.ts';
import { loopbackServer } from '../support/loopback-server.ts';
import { runSluiceHere } from '../support/sluice-command.ts';

const ONE_LINE = /^sluice: [^\n]+\n$/;
const JSON_TYPE = 'application/json';
/** They ask no service. */
const LOCAL = ['serve', 'edge', 'doctor', 'migrate', 'move'];
const ASKING = Object.keys(EXAMPLES).filter((name) => !LOCAL.includes(name));
/** Commands that ask in ways of their own; all others are like the first. */
const FEW = ['devices', 'device erase', 'release publish', 'import', 'backup'];

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

const folder = new BuildFolder();
let server: Awaited<ReturnType<typeof loopbackServer>>;
let url: string;
let asked = 0;
let answer: (response: ServerResponse) => void;

beforeAll(async () => {
  server = await loopbackServer((request, response) => {
    asked += 1;
    request.resume();
    answer(response);
  });
  url = `http://127.0.0.1:${server.port}`;
});
afterAll(() => server.close());
beforeEach(() => {
  folder.write('dist/Notes-1.4.0-linux-x86_64.AppImage');
  const assets = [{ name: 'Notes-1.4.0.AppImage', browser_download_url: 'https://x.example/a' }];
  const release = { tag_name: 'v1.4.0', draft: false, prerelease: false, assets };
  const releases = [{ ...release, created_at: '2026-01-01T00:00:00Z' }];
  folder.write('releases.json', JSON.stringify(releases));
});

/** Runs commands, each of which is answered so; returns how each has ended. */
async function ends(names: readonly string[], status: number, type: string, body: string) {
  answer = (response) =>
    response.writeHead(status, { 'content-type': type, location: '/login' }).end(body);
  const env = { SLUICE_URL: url, SLUICE_KEY: 'sluice_x', ADMIN_TOKEN: 'token' };
  const results = [];
  for (const name of names) {
    const words = EXAMPLES[name]?.replace('--json', '').match(/"[^"]*"|\S+/g) ?? [];
    const args = words.map((arg) => {
      const isFile = /^(?:dist|releases\.json|ledger\.tar\.gz)$/.test(arg);
      return isFile ? join(folder.path, arg) : arg.replaceAll('"', '');
    });
    const DATA_DIR = folder.path;
    results.push({
      name,
      ...(await runSluiceHere([...name.split(' '), ...args], { ...env, DATA_DIR })),
    });
  }
  return results;
}

it.each([
  ['200 with a page', ASKING, 200, 'text/html', '<html>Welcome</html>'],
  ['200 with nothing', FEW, 200, JSON_TYPE, ''],
  ['200 with a list', FEW, 200, JSON_TYPE, '[]'],
  ['200 with null', FEW, 200, JSON_TYPE, 'null'],
  ['202 with nothing', FEW, 202, JSON_TYPE, ''],
  ['202 with a page', FEW, 202, 'text/html', '<html>Welcome</html>'],
  // What was erased is answered with nothing.
  ['204', ASKING.filter((name) => name !== 'device erase'), 204, '', ''],
])('%s: it is not the service', async (_, names, status, type, body) => {
  for (const { name, code, stdout, stderr } of await ends(names, status, type, body)) {
    expect([name, code, stdout.split('\n').at(-1)]).toEqual([name, 1, '']);
    expect(stderr, name).toMatch(ONE_LINE);
    const words = /^sluice: (?:\S+: )?what answers at http:\S+ is not the service$/m;
    expect(stderr, name).toMatch(words);
  }
});

it.each([
  ['302 with a page', FEW, 302, 'text/html', '<html>Sign in</html>', /names http:\/\/127.*\/login/],
  ['401', FEW, 401, JSON_TYPE, '{"error":"Invalid or revoked API key"}', /Invalid or revoked/],
  ['404 with a page', ASKING, 404, 'text/html', 'No', /SLUICE_URL must be the address/],
  ['502 with a page', FEW, 502, 'text/html', 'Bad gateway', /the service answered 502$/m],
] as const)('%s: it is a refusal', async (_, names, status, type, body, words) => {
  for (const { name, code, stderr } of await ends(names, status, type, body)) {
    expect([name, code], stderr).toEqual([name, 1]);
    expect(stderr, name).toMatch(ONE_LINE);
    expect(stderr, name).toMatch(words);
  }
});

it('202 with an approval: every command says what waits', async () => {
  const results = await ends(ASKING, 202, JSON_TYPE, JSON.stringify({ approval: APPROVAL }));
  for (const { name, code, stdout, stderr } of results) {
    expect([name, code, stderr]).toEqual([name, 0, '']);
    expect(stdout, name).toMatch(/waits for an approval: apr_1|^Waits for an approval: /m);
  }
});

it('200 of another version: a missing field is told', async () => {
  const results = await ends(ASKING, 200, JSON_TYPE, '{}');
  for (const { name, stdout, stderr, code } of results) {
    expect([name, stdout === '' && stderr === '']).toEqual([name, false]);
    if (code !== 0) expect(stderr, name).toMatch(ONE_LINE);
  }
  const told = results.filter(({ code }) => code !== 0).map(({ name }) => name);
  expect(told).toEqual(expect.arrayContaining(['devices', 'release promote', 'notify test']));
});

const SERVICE = /^the service at http:\S+ answered 301: set SLUICE_URL to (\S+)$/;
const ELSEWHERE = /^http:\S+ answered 301 and names (\S+): SLUICE_URL must be the address /;

// No redirect is followed, and neither queries nor credentials are shown.
it.each<[to: string | undefined, form: RegExp, address?: string]>([
  ['https://ann:secret@a.b/api/v1/releases/', SERVICE, 'https://a.b'],
  ['https://a.b/api/v1/releases?app=notes', SERVICE, 'https://a.b'],
  ['https://a.b:8443/sluice/api/v1/releases', SERVICE, 'https://a.b:8443/sluice'],
  ['https://ann:secret@sso.b/login?code=secret#secret', ELSEWHERE, 'https://sso.b/login'],
  ['/login?to=secret', ELSEWHERE, 'URL/login'],
  [undefined, /^the service answered 301$/],
  ['mailto:ann@example.com', /^the service answered 301$/],
  ['http://[', /^the service answered 301$/],
])('of a redirect to %s one line tells where to', async (location, form, address) => {
  answer = (response) => response.writeHead(301, location === undefined ? {} : { location }).end();
  asked = 0;
  const client = ServiceClient.ofManagement(url, 'sluice_secret', true);
  const error = await client.call('GET', 'releases?app=notes').catch((reason: unknown) => reason);
  const { message } = error as Error;
  expect(form.exec(message)?.[1], message).toBe(address?.replace('URL', url));
  expect(message).toMatch(form);
  expect(message).not.toContain('secret');
  expect(asked).toBe(1);
});
