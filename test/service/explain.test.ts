// Tests the explanation of decisions for programs over HTTP (docs/contract.md 4.20). What counts of the query
// is tested in test/serving/explain-decision.test.ts, and each reason in test/domain/decision.

import { expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { expectError } from '../support/expect-error.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { createTenant, releaseOf } from '../support/tenant.ts';

serviceSuite('explaining a decision with a key', (node) => {
  it('tells what a device would be answered, and why, and writes nothing (§4.20)', async () => {
    const tenant = await createTenant(node);
    const explain = (query: string) => tenant.manage('GET', `explain?app=${tenant.app}${query}`);
    const { id } = releaseOf(await tenant.publish('1.1.0'));
    await tenant.publish('1.2.0', { status: 'paused' });
    const described = '&channel=stable&platform=linux&arch=x86_64&version=1.0.0&deviceId=x';
    expect((await explain(described)).body?.decision).toMatchObject({ reason: 'offered' });
    const release = await tenant.manage('GET', `releases/${id}`);
    expect(release.body).toMatchObject({ offered: false, offeredAt: null });
    expect(await tenant.devices()).toEqual([]);

    const asked = await tenant.check('1.0.0', { device: 'a', query: 'l.ring=x' });
    await eventually('the device is on record', async () => {
      return (await tenant.devices()).length === 1;
    });
    const answer = await explain('&deviceId=a&l.kept=1');
    const usual = { channel: 'stable', bucket: expect.any(Number), threshold: 10_000, unmet: [] };
    expect([answer.status, answer.body]).toStrictEqual([
      200,
      {
        decision: { update: asked.body, reason: 'offered' },
        device: {
          ...{ deviceId: 'a', channel: 'stable', platform: 'linux', arch: 'x86_64' },
          ...{ version: '1.0.0', client: 'u', bundle: null, labels: { ring: 'x', kept: '1' } },
        },
        candidates: [
          { ...usual, version: '1.2.0', status: 'paused', verdict: 'not-published' },
          { ...usual, version: '1.1.0', status: 'published', verdict: 'offered' },
        ],
      },
    ]);
    expectError(await explain(''), 400, 'channel: Required');
    expectError(await explain('&deviceId=nobody'), 404, 'Unknown device');
  });
});
