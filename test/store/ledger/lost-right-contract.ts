// Rules of writes whose author's right ends: nothing is written after the end was answered, and the end
// waits for no more than a commit.

import { beforeEach, expect, test } from 'vitest';
import {
  type FailureKind,
  fail,
  isFailure,
  refuseSignature,
} from '../../../src/contract/failure.ts';
import type { Role } from '../../../src/contract/resource.ts';
import type { Actor } from '../../../src/store/ledger-terms.ts';
import { checkIn, iso } from './fleet-fixture.ts';
import { createTenant, expectValue, OPERATOR, type TestTenant } from './ledger-fixture.ts';
import { actorOf, join, open } from './people-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

type Person = Extract<Actor, { kind: 'account' }>;

export function describeLostRights({ database, ledger }: LedgerUnderTest): void {
  let tenant: TestTenant;
  beforeEach(async () => {
    tenant = await createTenant(ledger);
  });

  const publish = (actor: Actor, version: string) => tenant.publish(version, {}, { actor });

  test('a key writes until its end, and nothing from then on', async () => {
    const actor = await tenant.key(iso(Date.now() + 3_600_000));
    const [{ prefix } = { prefix: '' }] = await ledger.listKeys(tenant.organizationId);
    expectValue(await publish(actor, '1.0.0'));
    expect(await ledger.findKey(prefix)).toMatchObject({ isOver: false });
    await database.query('UPDATE api_keys SET expires_at = now() WHERE id = $1', [actor.id]);
    expect(await ledger.findKey(prefix)).toMatchObject({ isOver: true });
    expect(await publish(actor, '2.0.0')).toEqual(fail('unauthorized'));
    expect(await ledger.findLostRight(actor)).toEqual(fail('unauthorized'));
  });

  test('a key that lacks the right writes nothing, and learns first what is unknown', async () => {
    const actor = { ...(await tenant.key()), lacks: 'publish' } as const;
    expect(await publish(actor, '1.0.0')).toMatchObject({ failure: 'keyMayNot' });
    const unknown = await tenant.publish('1.0.0', { app: 'nobody' }, { actor });
    expect(unknown).toEqual(fail('unknownApp'));
    expectValue(await publish({ ...actor, lacks: undefined }, '1.0.0'));
    // Already there: a conflict is told only to whom might have published.
    expect(await publish(actor, '1.0.0')).toMatchObject({ failure: 'keyMayNot' });
  });

  async function person(role: Role, needed: Role = 'publisher'): Promise<Person> {
    const { organizationId } = tenant;
    const account = await join(ledger, tenant, role);
    const needs = { organizationId, role: needed, unknown: 'unknownApp' } as const;
    return { ...actorOf(account, await open(ledger, account)), needs };
  }

  /** Expects that the actor writes before `lose`, and is refused with nothing stored after it. */
  async function expectLost(
    actor: Actor,
    lose: () => Promise<unknown>,
    kind: FailureKind,
  ): Promise<void> {
    expectValue(await publish(actor, '1.0.0'));
    expect(await ledger.findLostRight(actor)).toBeUndefined();
    expectValue(await ledger.recordReport([checkIn(tenant, 'before')], actor));
    await lose();
    const refusal = kind === 'badSignature' ? refuseSignature('github') : fail(kind);
    expect(await publish(actor, '2.0.0')).toEqual(refusal);
    // What exists already, and what does not, looks the same.
    expect(await publish(actor, '1.0.0')).toEqual(refusal);
    expect(await ledger.recordReport([checkIn(tenant, 'after')], actor)).toEqual(refusal);
    expect(await ledger.findLostRight(actor)).toEqual(refusal);
    expect((await tenant.stable()).releases).toHaveLength(1);
    expect((await tenant.stable()).revision).toBe(2);
    const { devices } = expectValue(await ledger.listDevices(tenant.appId, { limit: 10 }));
    expect(devices.map(({ deviceId }) => deviceId)).toEqual(['before']);
  }

  test('a key that is revoked, or of another organization, writes nothing', async () => {
    const actor = await tenant.key();
    await expectLost(actor, () => ledger.revokeKey(actor.id, OPERATOR), 'unauthorized');
    const { organizationId } = await createTenant(ledger);
    const other = { ...(await tenant.key()), organizationId };
    expect(await publish(other, '3.0.0')).toEqual(fail('unauthorized'));
  });

  test('a session that has ended writes nothing, nor does that of somebody else', async () => {
    const one = await person('publisher');
    await expectLost(one, () => ledger.endSession(one.tokenHash), 'signedOut');
    const [two, three] = [await person('owner'), await person('owner')];
    const mixed = { ...two, tokenHash: three.tokenHash };
    expect(await publish(mixed, '3.0.0')).toEqual(fail('signedOut'));
  });

  test('a role that was lowered, and a membership that ended, write nothing', async () => {
    const lowered = await person('publisher');
    const { organizationId } = tenant;
    const change = (actor: Person, role: Role | undefined) =>
      ledger.changeMember(organizationId, actor.accountId, role, OPERATOR);
    await expectLost(lowered, () => change(lowered, 'viewer'), 'forbidden');
    tenant = await createTenant(ledger);
    const former = await person('publisher');
    const leave = () =>
      ledger.changeMember(tenant.organizationId, former.accountId, undefined, OPERATOR);
    await expectLost(former, leave, 'unknownApp');
  });

  test('a webhook that is off, or has another secret, writes nothing', async () => {
    const integration = () => tenant.integration();
    const actor = await integration();
    const disable = () => ledger.disableWebhooks(tenant.appId, undefined, OPERATOR);
    await expectLost(actor, disable, 'unknownApp');
    tenant = await createTenant(ledger);
    await expectLost(await integration(), integration, 'badSignature');
  });

  test('whoever leaves, or takes the own role down, has the right until then', async () => {
    await person('owner');
    const { organizationId } = tenant;
    const one = await person('owner', 'owner');
    const lowered = await ledger.changeMember(organizationId, one.accountId, 'viewer', one);
    expect(expectValue(lowered).role).toBe('viewer');
    expect(await ledger.changeMember(organizationId, one.accountId, 'owner', one)).toEqual(
      fail('forbidden'),
    );
    const two = await person('owner', 'owner');
    expectValue(await ledger.changeMember(organizationId, two.accountId, undefined, two));
    expect(await publish(two, '1.0.0')).toEqual(fail('unknownApp'));
  });

  test('a key that publishes all the time writes nothing after its revocation was answered', async () => {
    const actor = await tenant.key();
    let isRevoked = false;
    let afterwards = 0;
    const publishing = Array.from({ length: 4 }, async (_, lane) => {
      for (let number = 0; number < 100; number++) {
        const hasBegunLate = isRevoked;
        const outcome = await publish(actor, `${lane}.${number}.0`);
        if (isFailure(outcome)) return outcome;
        if (hasBegunLate) afterwards += 1;
      }
      return undefined;
    });
    await publish(actor, '9.0.0');
    expectValue(await ledger.revokeKey(actor.id, OPERATOR));
    isRevoked = true;
    const { releases } = await tenant.stable();
    expect(await Promise.all(publishing)).toEqual(Array(4).fill(fail('unauthorized')));
    expect(afterwards).toBe(0);
    expect((await tenant.stable()).releases).toHaveLength(releases.length);
  });

  test('owners who change and remove one another at once never wait for each other for ever', async () => {
    const owners = await Promise.all(Array.from({ length: 6 }, () => person('owner', 'owner')));
    const { organizationId } = tenant;
    const outcomes = await Promise.all(
      owners.flatMap((actor, index) => {
        const target = owners[(index + 1) % owners.length] as Person;
        return [
          ledger.changeMember(organizationId, target.accountId, 'publisher', actor),
          publish(actor, `1.${index}.0`),
          ledger.changeMember(organizationId, target.accountId, undefined, actor),
          ledger.endSessions(target.accountId),
          ledger.changePassword('hash', 'other', { ...actor, needs: undefined }),
        ];
      }),
    );
    expect(outcomes).toHaveLength(30);
    const members = await ledger.listMembers(organizationId);
    expect(members.filter(({ role }) => role === 'owner').length).toBeGreaterThan(0);
  });
}
