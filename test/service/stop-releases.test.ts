// Tests stops over HTTP: what they answer, what devices get then, and what the commands print
// (docs/contract.md 4.21 and 4.22). What a stop pauses, what its end leaves alone, and stops at the same time
// are tested in test/store/ledger/stop-contract.ts.

import { expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { runSluiceHere } from '../support/sluice-command.ts';
import { createTenant, type Json, type Tenant } from '../support/tenant.ts';

serviceSuite('stops', (node) => {
  const furnish = () => createTenant(node, ['1.0.0'], ['2.0.0', { channel: 'beta' }]);

  const stop = (tenant: Tenant, more: Json = {}) =>
    tenant.manage('POST', 'stop', { app: tenant.app, ...more });
  const resume = (tenant: Tenant, id: unknown) => tenant.manage('POST', 'resume', { stop: id });

  const offersOf = (tenant: Tenant) =>
    Promise.all(['stable', 'beta'].map((channel) => tenant.offered('0.1.0', { channel })));

  it('nobody is offered anything as soon as it is answered, and everybody again once resumed (§4.21)', async () => {
    const tenant = await furnish();
    expect(await offersOf(tenant)).toEqual(['1.0.0', '2.0.0']);
    const stopped = await stop(tenant, { reason: 'they crash' });
    expect(await offersOf(tenant)).toEqual([null, null]);
    const releases = [
      { channel: 'beta', version: '2.0.0' },
      { channel: 'stable', version: '1.0.0' },
    ];
    const made = { id: expect.stringMatching(/^stp_/), releases };
    expect(stopped).toMatchObject({ status: 200, body: { stop: made } });
    const { id } = (stopped.body?.stop ?? {}) as Json;
    const entries = await tenant.audit('limit=2&action=release');
    expect(entries.map(({ after, reason }) => [(after as Json).stop, reason])).toEqual([
      [id, 'they crash'],
      [id, 'they crash'],
    ]);
    const resumed = await resume(tenant, id);
    expect(resumed).toMatchObject({ status: 200, body: { released: releases, changed: [] } });
    expect(await offersOf(tenant)).toEqual(['1.0.0', '2.0.0']);
  });

  it('one of a channel stops no other; what is unknown is 404, and a name is required', async () => {
    const tenant = await furnish();
    expect((await stop(tenant, { channel: 'beta' })).status).toBe(200);
    expectError(await resume(tenant, 'stp_0'), 404, 'Unknown stop');
    expectError(await stop(tenant, { channel: 'nightly' }), 404, 'Unknown channel');
    expectError(await stop(tenant, { app: undefined }), 400, 'app: Required');
    expectError(await resume(tenant, undefined), 400, 'stop: Required');
    expect(await offersOf(tenant)).toEqual(['1.0.0', null]);
  });

  it('the commands say what they did, and how it goes on', async () => {
    const tenant = await furnish();
    const env = { SLUICE_URL: node.url, SLUICE_KEY: tenant.secret };
    const stopped = await runSluiceHere(['stop', '--app', tenant.app, '--channel', 'beta'], env);
    const [, id] = /^To let them go on: sluice resume (stp_\w+)$/m.exec(stopped.stdout) ?? [];
    expect(stopped.stdout).toContain('paused  beta 2.0.0\n');
    const resumed = await runSluiceHere(['resume', String(id)], env);
    expect(resumed.stdout).toBe('published  beta 2.0.0\n');
    const again = await runSluiceHere(['resume', String(id), '--json'], env);
    const reason = 'It was resumed before';
    const changed = [{ channel: 'beta', version: '2.0.0', reason }];
    expect(JSON.parse(again.stdout)).toEqual({ released: [], changed });
    const none = await runSluiceHere(['resume', 'stp_0'], env);
    expect([none.code, none.stderr]).toEqual([1, 'sluice: Unknown stop\n']);
  });
});
