// Tests the address of its own that console, console API, metrics and health have with ADMIN_LISTEN
// (docs/operating/health.md): what is where, links and cookies, and how soon the serving processes know.

import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ADMIN_APART, adminAddress, logLines } from '../support/admin-address.ts';
import { describeOnBackends } from '../support/backend.ts';
import { enableWebhook } from '../support/github.ts';
import { metricsOf, scrape } from '../support/metrics.ts';
import { ADMIN_TOKEN, type ServingNode, startNode } from '../support/node.ts';
import { Person, tokenIn } from '../support/person.ts';
import { runSluiceHere } from '../support/sluice-command.ts';
import { admin, check, createTenant, manage, publish, send } from '../support/tenant.ts';

type Addressed = { readonly url: string };

/** Paths whose answer the admin process has from the supervisor: 503 if that is late. */
const BY_SUPERVISOR = ['/readyz', '/metrics'];
/** A database that no client can reach. */
const AWAY = 'postgres://nobody@127.0.0.1:1/none';

describeOnBackends('an admin address', (backend) => {
  let node: ServingNode;
  let console: Addressed;

  beforeAll(async () => {
    node = await backend.start({
      ...ADMIN_APART,
      ...{ SECRET_KEY: 'a key of the tests', ORGANIZATIONS_BY: 'anyone' },
    });
    console = adminAddress(logLines(node.output()));
  });
  afterAll(() => node?.dispose());

  it.each([
    ['/healthz', 200, 200],
    ['/readyz', 200, 200],
    ['/metrics', 404, 200],
    ['/console', 404, 200],
    ['/console/apps', 404, 200],
    ['/console/api/session', 404, 200],
    ['/console/api/nothing', 404, 404],
    ['/u/app/stable/linux/x86_64/1.0.0', 404, 404],
    ['/feed/app/stable.json', 404, 404],
    ['/api/v1/apps', 401, 404],
    // The console has a link to the reference, which is public.
    ['/docs', 200, 200],
    ['/api/v1/openapi.json', 200, 200],
  ])(
    'GET %s is %d on the port of the service and %d on the admin address',
    async (path, open, apart) => {
      const ask = (each: Addressed) =>
        BY_SUPERVISOR.includes(path) ? scrape(each, path) : send(each, 'GET', path);
      const answers = await Promise.all([node, console].map(ask));
      expect(answers.map(({ status }) => status)).toEqual([open, apart]);
      for (const { status, body } of answers) {
        if (status === 404) expect(body?.error).toEqual(expect.any(String));
      }
    },
  );

  it('leads a browser to the console from the admin address, and tells strangers nothing of it', async () => {
    const [open, apart] = await Promise.all([node, console].map(askRoot));
    expect([open?.status, open?.headers.get('location')]).toEqual([404, null]);
    expect([apart?.status, apart?.headers.get('location')]).toEqual([302, '/console']);
  });

  it('POST of a delivery goes to the port of the service, which the webhook names', async () => {
    const tenant = await createTenant(console);
    const { url } = await enableWebhook(console, tenant);
    expect(url).toBe(`${node.url}/wh/github/${tenant.appId}`);
    const path = new URL(url).pathname;
    const statuses = [node, console].map(async (each) => (await send(each, 'POST', path)).status);
    expect(await Promise.all(statuses)).toEqual([401, 404]);
  });

  it('a call that waits for an approval names the console, which is on the admin address', async () => {
    const tenant = await createTenant(console);
    const change = { app: tenant.app, name: 'stable', approvals: 'one' };
    expect((await admin(console, 'PATCH', 'channels', change)).status).toBe(200);
    const { status, body } = await publish(node, tenant, '1.0.0');
    const { url } = (body?.approval ?? {}) as { readonly url?: string };
    expect(status).toBe(202);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/console\/approvals\//);
    expect(url).not.toContain(node.url);
  });

  it('what the console changes is served at once: each change by the next check', async () => {
    const tenant = await createTenant(console);
    expect((await check(node, tenant, '1.0.0')).status).toBe(204);
    for (let minor = 1; minor <= 8; minor++) {
      const version = `1.${minor}.0`;
      const artifacts = [{ platform: 'linux', arch: 'x86_64', url: 'https://a.example/app' }];
      const release = { app: tenant.app, channel: 'stable', version, artifacts };
      expect((await admin(console, 'POST', 'releases', release)).status).toBe(201);
      expect((await check(node, tenant, '1.0.0')).body?.version).toBe(version);
    }
    // An unknown name is remembered for a while, until its creation is heard of.
    expect((await check(node, tenant, '1.0.0', { channel: 'next' })).status).toBe(404);
    const channel = { app: tenant.app, name: 'next' };
    expect((await admin(console, 'POST', 'channels', channel)).status).toBe(201);
    expect((await check(node, tenant, '1.0.0', { channel: 'next' })).status).toBe(204);
    const { status } = await manage(
      node,
      tenant,
      'GET',
      `releases?app=${tenant.app}&channel=stable`,
    );
    expect(status).toBe(200);
  });

  it('its metrics are those of the node, requests to itself among them', async () => {
    const tenant = await createTenant(console);
    await publish(node, tenant, '1.1.0');
    const offered = 'sluice_checks_total{reason="offered"}';
    const before = await sample(offered);
    expect((await check(node, tenant, '1.0.0')).status).toBe(200);
    expect(await sample(offered)).toBe(before + 1);
    const refused = 'sluice_requests_total{status="405"}';
    await send(console, 'POST', '/metrics');
    expect(await sample(refused)).toBeGreaterThan(0);
  });

  it('a page of it may write, a page of the port of the service may not', async () => {
    const person = new Person(console);
    expect((await person.setUp('Apart')).status).toBe(201);
    const organization = { name: 'Another' };
    person.origin = node.url;
    expect((await person.call('POST', 'organizations', organization)).status).toBe(403);
    expect((await new Person(console).call('POST', 'session', {})).status).not.toBe(403);
    person.origin = console.url;
    const made = await person.call('POST', 'organizations', organization);
    expect(made.status).toBe(201);
    expect((await person.call('GET', 'session')).body?.mayCreateOrganizations).toBe(true);
    const invited = await person.call('POST', 'invitations', {
      org: made.body?.id,
      email: 'guest@example.com',
      role: 'viewer',
    });
    expect(invited.body?.url).toBe(
      `${console.url}/console/invitation/${tokenIn(invited.body?.url)}`,
    );
    const cookie = (await person.signIn()).headers.get('set-cookie');
    expect(cookie).toMatch(/; Path=\/console; .*HttpOnly; SameSite=Strict$/);
  });

  it('the command line asks there by itself', async () => {
    const settings = { ADMIN_LISTEN: new URL(console.url).host, DATA_DIR: node.dataDir };
    const { stdout } = await runSluiceHere(['org', 'create', '--name', 'By command', '--json'], {
      ...settings,
      ADMIN_TOKEN,
    });
    expect(JSON.parse(stdout)).toMatchObject({ name: 'By command' });
  });

  it("publishers' commands ask the port of the service by themselves", async () => {
    const tenant = await createTenant(console);
    await publish(node, tenant, '1.1.0');
    const { hostname: HOST, port: PORT } = new URL(node.url);
    const settings = { HOST, PORT, ADMIN_LISTEN: new URL(console.url).host };
    const named = ['--app', tenant.app, '--channel', 'stable'];
    const device = ['--device', 'never seen'];
    const list = ['release', 'list', '--app', tenant.app];
    const env = { ...settings, SLUICE_KEY: tenant.secret };
    const listed = await runSluiceHere([...list, '--json'], env);
    expect(listed.stderr).toBe('');
    expect(JSON.parse(listed.stdout)).toMatchObject({ total: 1 });
    const plan = await runSluiceHere(['plan', 'show', ...named, '--version', '1.1.0'], env);
    expect(plan.stderr).toBe('sluice: No plan\n');
    const explained = await runSluiceHere(['explain', ...named, ...device], env);
    expect(explained.stderr).toBe('sluice: Unknown device\n');
  });

  it('a command that is sent to the other address says where it asked, and names SLUICE_URL', async () => {
    const { secret } = await createTenant(console);
    const list = await runSluiceHere(['release', 'list', '--app', 'notes'], {
      ...{ SLUICE_URL: console.url, SLUICE_KEY: secret },
    });
    expect([list.code, list.stdout]).toEqual([1, '']);
    expect(list.stderr).toBe(
      `sluice: nothing at ${console.url}/api/v1/releases: SLUICE_URL must be the address that devices ask, ` +
        'not that of ADMIN_LISTEN\n',
    );
    const org = await runSluiceHere(['org', 'list'], { SLUICE_URL: node.url, ADMIN_TOKEN });
    expect([org.code, org.stdout]).toEqual([1, '']);
    expect(org.stderr).toBe(
      `sluice: nothing at ${node.url}/console/api/session: SLUICE_URL must be the address of the ` +
        'console, which is that of ADMIN_LISTEN where it is set\n',
    );
  });

  async function sample(name: string): Promise<number> {
    const text = await metricsOf(console);
    const line = text.split('\n').find((each) => each.startsWith(`${name} `));
    return Number(line?.slice(name.length + 1) ?? 0);
  }
});

/** Asks for the address without a path, as a browser does when a person types it. */
function askRoot({ url }: Addressed): Promise<Response> {
  return fetch(`${url}/`, { headers: { accept: 'text/html' }, redirect: 'manual' });
}

describeOnBackends('settings of the admin address (Settings)', (backend) => {
  it('ADMIN_URL is the base of links and decides on the cookie, whatever was asked', async () => {
    const node = await backend.start({
      ...ADMIN_APART,
      ADMIN_URL: 'https://ops.example.com/sluice/',
    });
    try {
      const console = adminAddress(logLines(node.output()));
      const person = new Person(console);
      person.origin = 'https://ops.example.com';
      const setUp = await person.setUp('Linked');
      expect(setUp.status).toBe(201);
      expect(setUp.headers.get('set-cookie')).toMatch(/; Path=\/sluice\/console; .*; Secure$/);
      const page = await (await fetch(`${console.url}/console/apps`)).text();
      expect(page).toContain(' src="/sluice/console/assets/');
      const { body } = await person.call('GET', 'session');
      const memberships = body?.memberships as { organization: { id: string } }[];
      const invited = await person.call('POST', 'invitations', {
        org: memberships[0]?.organization.id,
        email: 'guest@example.com',
        role: 'viewer',
      });
      expect(invited.body?.url).toMatch(
        /^https:\/\/ops\.example\.com\/sluice\/console\/invitation\//,
      );
      expect(node.output()).toContain('https://ops.example.com/sluice/console');
      for (const address of [node, console]) {
        const { headers } = await askRoot(address);
        expect(headers.get('location')).toBe('https://ops.example.com/sluice/console');
      }
    } finally {
      await node.dispose();
    }
  });

  it('ADMIN_URL alone leaves the console on the port of the service, with its own links', async () => {
    const node = await backend.start({
      PUBLIC_URL: 'http://updates.example.com',
      ADMIN_URL: 'http://ops.example.com',
    });
    try {
      const { org } = await createTenant(node);
      const invitation = { org, email: 'guest@example.com', role: 'viewer' };
      const invited = await admin(node, 'POST', 'invitations', invitation);
      expect(invited.body?.url).toMatch(/^http:\/\/ops\.example\.com\/console\/invitation\//);
    } finally {
      await node.dispose();
    }
  });

  it('an ADMIN_LISTEN that is taken stops the start, in one process or several', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    const taken = { ADMIN_LISTEN: `127.0.0.1:${port}` };
    const sentence = `sluice: ADMIN_LISTEN: cannot listen on 127.0.0.1:${port}: another program has it`;
    try {
      await expect(startNode(taken)).rejects.toThrow(sentence);
      const stores = { DATABASE_URL: AWAY, REDIS_URL: 'redis://127.0.0.1:1' };
      await expect(startNode({ ...taken, ...stores, WORKERS: '2' })).rejects.toThrow(sentence);
    } finally {
      other.close();
    }
  });
});
