// Tests the address of its own that console, console API, metrics and health have with ADMIN_LISTEN
// (docs/operating/health.md): what is where, links and cookies, and how soon the serving processes know.

import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ADMIN_APART, adminAddress, logLines } from '../support/admin-address.ts';
import { describeOnBackends } from '../support/backend.ts';
import { DdiDevice } from '../support/ddi-device.ts';
import { eventually } from '../support/eventually.ts';
import { enableWebhook } from '../support/github.ts';
import { metricsOf, scrape } from '../support/metrics.ts';
import { ADMIN_TOKEN, type ServingNode, startNode } from '../support/node.ts';
import { member, Person, tokenIn } from '../support/person.ts';
import { runSluiceHere } from '../support/sluice-command.ts';
import { ARTIFACT, admin, createTenant, send } from '../support/tenant.ts';

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
    ['/console/api/session', 404, 200],
    ['/u/app/stable/linux/x86_64/1.0.0', 404, 404],
    ['/api/v1/apps', 401, 404],
    // The console has a link to the reference, which is public.
    ['/docs', 200, 200],
    ['/api/v1/openapi.json', 200, 200],
  ])('GET %s is %d on the port of the service and %d on the admin address', async (path, ...of) => {
    const ask = (each: Addressed) =>
      BY_SUPERVISOR.includes(path) ? scrape(each, path) : send(each, 'GET', path);
    const answers = await Promise.all([node, console].map(ask));
    expect(answers.map(({ status }) => status)).toEqual(of);
    for (const { status, body } of answers) {
      if (status === 404) expect(body?.error).toEqual(expect.any(String));
    }
  });

  it('leads a browser to the console from the admin address, and tells strangers nothing of it', async () => {
    const [open, apart] = await Promise.all([node, console].map(askRoot));
    expect([open?.status, open?.headers.get('location')]).toEqual([404, null]);
    expect([apart?.status, apart?.headers.get('location')]).toEqual([302, '/console']);
  });

  it('a webhook names the port of the service, and a call that waits for an approval the console', async () => {
    const tenant = await createTenant(console);
    const { url } = await enableWebhook(console, tenant);
    expect(url).toBe(`${node.url}/wh/github/${tenant.appId}`);
    const path = new URL(url).pathname;
    const statuses = [node, console].map(async (each) => (await send(each, 'POST', path)).status);
    expect(await Promise.all(statuses)).toEqual([401, 404]);
    await tenant.at(console).setChannel({ approvals: 'one' });
    const { status, body } = await tenant.at(node).publish('1.0.0');
    const approval = body?.approval as { readonly url?: string } | undefined;
    expect(status).toBe(202);
    expect(approval?.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/console\/approvals\//);
    expect(approval?.url).not.toContain(node.url);
  });

  it('a person there lets a device that speaks DDI have a release again (§34.52)', async () => {
    const tenant = await createTenant(console);
    await tenant.openDdi({ retries: 0 });
    const file = { platform: 'linux', url: 'https://dl.example.com/i.swu', size: 9 };
    const artifacts = [{ ...file, sha1: 'a'.repeat(40) }];
    await tenant.at(node).release('2.0.0', { artifacts });
    const device = new DdiDevice(node, tenant.app, 'd-1', { machine: 'linux/x86_64/1.0.0' });
    await eventually('the channel answers', async () => (await device.ask('GET')).status === 200);
    await device.tell({});
    await device.report((await device.poll()).deployment, 'failure');
    expect((await device.poll()).deployment).toBeUndefined();
    const release = { app: tenant.app, channel: 'stable', version: '2.0.0' };
    const body = { ...release, deviceIds: [device.id] };
    const { body: answer } = await admin(console, 'POST', 'releases/retry', body);
    expect(answer).toEqual({ release, devices: 1 });
    expect((await device.poll()).deployment).toBeDefined();
    await eventually('it is on record', async () => {
      const query = `device?app=${tenant.app}&deviceId=${device.id}`;
      const { body: shown } = await admin(console, 'GET', query);
      return JSON.stringify(shown?.barred) === '[]';
    });
  });

  it('what the console changes is served at once, and its metrics are those of the node and its own', async () => {
    const tenant = await createTenant(console);
    const sample = async (name: string) => {
      const line = new RegExp(`^${name.replace(/[{}]/g, '\\$&')} (\\d+)$`, 'm');
      return Number(line.exec(await metricsOf(console))?.[1] ?? 0);
    };
    const offered = 'sluice_checks_total{reason="offered"}';
    const before = await sample(offered);
    expect((await tenant.at(node).check('1.0.0')).status).toBe(204);
    for (const version of ['1.1.0', '1.2.0', '1.3.0', '1.4.0']) {
      const release = { app: tenant.app, channel: 'stable', version, artifacts: [ARTIFACT] };
      expect((await admin(console, 'POST', 'releases', release)).status).toBe(201);
      expect(await tenant.at(node).offered('1.0.0')).toBe(version);
    }
    expect(await sample(offered)).toBe(before + 4);
    await send(console, 'POST', '/metrics');
    expect(await sample('sluice_requests_total{status="405"}')).toBeGreaterThan(0);
    // An unknown name is remembered for a while, until its creation is heard of.
    const next = async () => (await tenant.at(node).check('1.0.0', { channel: 'next' })).status;
    expect(await next()).toBe(404);
    const channel = { app: tenant.app, name: 'next' };
    expect((await admin(console, 'POST', 'channels', channel)).status).toBe(201);
    expect(await next()).toBe(204);
  });

  it('a page of it may write, a page of the port of the service may not', async () => {
    const person = new Person(console);
    expect((await person.setUp('Apart')).status).toBe(201);
    const organization = { name: 'Another' };
    person.origin = node.url;
    expect((await person.call('POST', 'organizations', organization)).status).toBe(403);
    person.origin = console.url;
    const made = await person.call('POST', 'organizations', organization);
    expect(made.status).toBe(201);
    expect((await person.call('GET', 'session')).body?.mayCreateOrganizations).toBe(true);
    // An organization belongs to who creates it, to nobody else.
    const { org } = await createTenant(console);
    const viewer = await member(console, org, 'viewer');
    const own = await viewer.call('POST', 'organizations', { name: 'Mine' });
    expect(own.status).toBe(201);
    const path = `members?org=${own.body?.id}`;
    expect((await viewer.call('GET', path)).body?.members).toMatchObject([
      { account: { email: viewer.email }, role: 'owner' },
    ]);
    expect((await person.call('GET', path)).status).toBe(404);
    const invitation = { org: made.body?.id, email: 'guest@example.com', role: 'viewer' };
    const { body } = await person.call('POST', 'invitations', invitation);
    expect(body?.url).toBe(`${console.url}/console/invitation/${tokenIn(body?.url)}`);
    const cookie = (await person.signIn()).headers.get('set-cookie');
    expect(cookie).toMatch(/; Path=\/console; .*HttpOnly; SameSite=Strict$/);
  });

  it("the command asks there by itself, publishers' commands the port of the service; a wrong address is told", async () => {
    const { app, secret } = await createTenant(console);
    const { hostname: HOST, port: PORT } = new URL(node.url);
    const settings = { HOST, PORT, ADMIN_LISTEN: new URL(console.url).host };
    const org = await runSluiceHere(['org', 'create', '--name', 'By command', '--json'], {
      ...{ ADMIN_LISTEN: settings.ADMIN_LISTEN, DATA_DIR: node.dataDir, ADMIN_TOKEN },
    });
    expect(JSON.parse(org.stdout)).toMatchObject({ name: 'By command' });
    const env = { ...settings, SLUICE_KEY: secret };
    const list = ['release', 'list', '--app', app];
    const listed = await runSluiceHere([...list, '--json'], env);
    expect([listed.stderr, JSON.parse(listed.stdout)]).toMatchObject(['', { total: 0 }]);
    const device = ['explain', '--app', app, '--channel', 'stable', '--device', 'never seen'];
    expect((await runSluiceHere(device, env)).stderr).toBe('sluice: Unknown device\n');

    const published = await runSluiceHere(list, { SLUICE_URL: console.url, SLUICE_KEY: secret });
    expect([published.code, published.stdout, published.stderr]).toEqual([
      ...[1, ''],
      `sluice: nothing at ${console.url}/api/v1/releases: SLUICE_URL must be the address that devices ask, ` +
        'not that of ADMIN_LISTEN\n',
    ]);
    const orgs = await runSluiceHere(['org', 'list'], { SLUICE_URL: node.url, ADMIN_TOKEN });
    expect([orgs.code, orgs.stdout, orgs.stderr]).toEqual([
      ...[1, ''],
      `sluice: nothing at ${node.url}/console/api/session: SLUICE_URL must be the address of the ` +
        'console, which is that of ADMIN_LISTEN where it is set\n',
    ]);
  });

  // Last: the node has another address afterwards. Which settings it is of is in test/settings.
  it('ADMIN_URL is the base of links and decides on the cookie, whatever was asked (Settings)', async () => {
    await node.stop();
    node = await node.restart({ ADMIN_URL: 'https://ops.example.com/sluice/' });
    const apart = adminAddress(logLines(node.output()));
    const person = new Person(apart);
    const { org } = await createTenant(apart);
    const invited = await admin(apart, 'POST', 'invitations', {
      org,
      email: person.email,
      role: 'viewer',
    });
    const base = 'https://ops.example.com/sluice/console';
    expect(invited.body?.url).toBe(`${base}/invitation/${tokenIn(invited.body?.url)}`);
    person.origin = 'https://ops.example.com';
    const body = { token: tokenIn(invited.body?.url), name: 'Guest', password: 'a long password' };
    const joined = await person.call('POST', 'invitation', body);
    expect(joined.headers.get('set-cookie')).toMatch(/; Path=\/sluice\/console; .*; Secure$/);
    const page = await (await fetch(`${apart.url}/console/apps`)).text();
    expect(page).toContain(' src="/sluice/console/assets/');
    for (const address of [node, apart]) {
      expect((await askRoot(address)).headers.get('location')).toBe(base);
    }
  });

  it('an ADMIN_LISTEN that is taken stops the start, in one process or several (Settings)', async () => {
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

/** Asks for the address without a path, as a browser does when a person types it. */
function askRoot({ url }: Addressed): Promise<Response> {
  return fetch(`${url}/`, { headers: { accept: 'text/html' }, redirect: 'manual' });
}
