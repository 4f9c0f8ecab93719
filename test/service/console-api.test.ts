// Tests the console API as an operator calls it with the admin token (docs/operating/commands.md): apps,
// channels and the audit. Who may call what is in console-rights.test.ts.

import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeOnRealStores, realStores } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { expectError } from '../support/expect-error.ts';
import { ADMIN_TOKEN } from '../support/node.ts';
import { startNodeOnReal } from '../support/real-node.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { admin, createTenant, type Json, send, Tenant } from '../support/tenant.ts';

serviceSuite('the console API', (node) => {
  it('refuses what is not the admin token, whatever the body; the case of its scheme does not matter', async () => {
    const { org, secret } = await createTenant(node);
    const path = '/console/api/organizations';
    const wrong = ['', 'Bearer', 'Bearer ', 'Bearer wrong', `Bearer ${secret}`, ADMIN_TOKEN];
    wrong.push(`Basic ${ADMIN_TOKEN}`, `Bearer ${ADMIN_TOKEN}x`, `Bearer ${ADMIN_TOKEN} x`);
    for (const authorization of wrong) {
      const answer = await send(node, 'POST', path, {
        headers: { authorization },
        body: '{"not":',
      });
      expectError(answer, 401, 'Invalid admin token');
    }
    const headers = { authorization: `bEARER ${ADMIN_TOKEN}` };
    const audit = await send(node, 'GET', `/console/api/audit?org=${org}`, { headers });
    expect(audit.status).toBe(200);
    const withToken = new Tenant(node, { secret: ADMIN_TOKEN });
    expect((await withToken.manage('GET', 'apps')).status).toBe(401);
  });

  it.each<[method: string, path: string, body: Json | string | undefined, error: RegExp]>([
    ['POST', 'organizations', {}, /^name: Required$/],
    ['POST', 'organizations', { name: 'x'.repeat(201) }, /^name: .*200/],
    ['POST', 'organizations', { name: 'A', nmae: 'B' }, /^nmae: Unrecognized key$/],
    ['POST', 'organizations', '[]', /^body: /],
    ['POST', 'organizations', undefined, /^Invalid JSON body$/],
    ['POST', 'apps', { org: 'o', ref: '-r', name: 'A' }, /^ref: /],
    ['POST', 'apps', { org: 'o', ref: 'r', name: 'A', channels: [] }, /^channels: .*at least 1/],
    [
      'POST',
      'apps',
      { org: 'o', ref: 'r', name: 'A', channels: ['a', 'a'] },
      /^channels: .*repeat/,
    ],
    ['POST', 'apps', { org: 'o', ref: 'r', name: 'A', channels: ['a', 'b/c'] }, /^channels\.1: /],
    ['POST', 'channels', { app: 'r', name: 'a b' }, /^name: /],
    ['PATCH', 'channels', { app: 'r', name: 's' }, /is required$/],
    ['PATCH', 'channels', { app: 'r', name: 's', defaultRollout: 101 }, /^defaultRollout: .*100/],
    ['PATCH', 'channels', { app: 'r', name: 's', updateMode: 'required' }, /^updateMode: Must be/],
    ...['x', ''].map((minimumSupportedVersion): [string, string, Json, RegExp] => [
      ...(['PATCH', 'channels', { app: 'r', name: 's', minimumSupportedVersion }] as const),
      /^minimumSupportedVersion: Invalid version$/,
    ]),
    ...['true', 1, null].map((requireSignature): [string, string, Json, RegExp] => [
      ...(['PATCH', 'channels', { app: 'r', name: 's', requireSignature }] as const),
      /^requireSignature: Expected a boolean$/,
    ]),
    ...Object.entries<[value: unknown, error: RegExp]>({
      pollSeconds: [9, /at least 10/],
      platform: ['', /not be empty/],
      keys: [{ version: '$v' }, /\.version: .*begin with/],
      unknownVersion: ['guess', /Must be one of/],
      retries: [9, /at most 8/],
      retryAfterMinutes: [4, /at least 5/],
      askDays: [366, /at most 365/],
      auth: ['open', /Unrecognized key/],
    }).map(([name, [value, error]]): [string, string, Json, RegExp] => [
      ...(['PATCH', 'channels', { app: 'r', name: 's', ddi: { [name]: value } }] as const),
      new RegExp(`^ddi\\.${name}.*${error.source}`),
    ]),
    ['POST', 'keys', { org: 'o' }, /^name: Required$/],
    ['GET', 'audit', undefined, /^org: Required$/],
    ['GET', 'audit?org=o&limit=1001', undefined, /^limit: .*1000/],
  ])('%s %s with %j is 400 and names the field', async (method, path, body, error) => {
    expectError(await admin(node, method, path, body), 400, expect.stringMatching(error));
  });

  it('a path it has not is 404, a method 405, and what is taken 409, once over all organizations (§11.9)', async () => {
    const [{ app, appId }, { org }] = [await createTenant(node), await createTenant(node)];
    for (const path of ['nothing', 'none/such', 'keys//revoke']) {
      for (const method of ['POST', 'PATCH', 'DELETE']) {
        expectError(await admin(node, method, path, {}), 404, 'Not found');
      }
    }
    const wrong = await admin(node, 'DELETE', 'channels', {});
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST, PATCH']);
    expectError(await admin(node, 'POST', 'keys/%00/revoke'), 404, 'Unknown API key');
    const unknown = { app, name: 'no-such', defaultRollout: 1 };
    expectError(await admin(node, 'PATCH', 'channels', unknown), 404, 'Unknown channel');
    const taken = await admin(node, 'POST', 'apps', { org, ref: app, name: 'A' });
    expectError(taken, 409, 'An app with this ref already exists');
    const make = (name: string) => admin(node, 'POST', 'channels', { app, name });
    const twice = 'A channel with this name already exists on this app';
    expectError(await make('beta'), 409, twice);
    expect((await make('Beta')).status).toBe(201);
    const ddi = await admin(node, 'PATCH', 'channels', { app, name: 'stable', ddi: {} });
    expectError(ddi, 409, 'DDI needs ddiAuth: set open or token for the app first');
    // An app is named by its id as well (§2.4).
    const change = { app: appId, name: 'stable', updateMode: 'recommended' };
    const changed = await admin(node, 'PATCH', 'channels', change);
    expect(changed.body).toMatchObject({ app, updateMode: 'recommended' });
  });

  it('the audit tells who changed what from what to what, newest first, and nothing of what changed nothing (§11.9, §11.10)', async () => {
    const tenant = await createTenant(node);
    const { app, keyId } = tenant;
    const setRollout = (defaultRollout: number) =>
      admin(node, 'PATCH', 'channels', { app, name: 'stable', defaultRollout });
    await setRollout(40);
    await tenant.publish('v1.2');
    await tenant.control('1.2.0', { rollout: 60, status: 'paused' });
    const before = await tenant.audit();
    expect((await tenant.publish('1.2')).status).toBe(409);
    expect((await tenant.publish('x')).status).toBe(400);
    expect((await tenant.control('2.0.0', { rollout: 1 })).status).toBe(404);
    expect((await tenant.control('1.2.0', { rollout: 60 })).status).toBe(200);
    expect((await setRollout(40)).status).toBe(200);
    expect(await tenant.audit()).toEqual(before);
    await admin(node, 'POST', `keys/${keyId}/revoke`);
    const entries = await tenant.audit();
    const actor = `key:${keyId} (ci)`;
    expect(entries).toMatchObject([
      {
        ...{ actor: 'admin-token', action: 'key.revoke', subject: keyId },
        before: { name: 'ci', revokedAt: null },
      },
      {
        ...{ actor, action: 'release.serve', subject: `${app}/stable@v1.2` },
        before: { rolloutPct: 40, status: 'published', targets: null },
        after: { rolloutPct: 60, status: 'paused', targets: null },
      },
      {
        ...{ actor, action: 'release.publish', before: null },
        after: { version: 'v1.2', status: 'published', rolloutPct: 40 },
      },
      {
        ...{ action: 'channel.update', subject: `${app}/stable` },
        ...{ before: { defaultRollout: 100 }, after: { defaultRollout: 40 } },
      },
      ...[{ action: 'key.create' }, { action: 'app.create' }, { action: 'organization.create' }],
    ]);
    const times = entries.map(({ at }) => String(at));
    expect(times).toEqual([...times].sort().reverse());
  });
});

describeOnRealStores('a service on PostgreSQL without ADMIN_TOKEN', () => {
  it('says at the start that it has to be set, makes none, and is closed to everybody (Environment)', async () => {
    const node = await startNodeOnReal(realStores()?.postgresUrl ?? '', { ADMIN_TOKEN: undefined });
    try {
      const told = () => node.output().includes('the service is not set up yet: set ADMIN_TOKEN');
      await eventually('it is told', told);
      await expect(stat(join(node.dataDir, 'admin-token'))).rejects.toThrow(/ENOENT/);
      for (const token of ['', ' ', ' undefined', ' null', ` ${ADMIN_TOKEN}`]) {
        const headers = { authorization: `Bearer${token}` };
        const answer = await send(node, 'GET', '/console/api/edge-tokens', { headers });
        expect(answer.status, token).toBe(401);
      }
    } finally {
      await node.dispose();
    }
  });
});
