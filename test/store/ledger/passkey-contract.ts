// Rules of the part of the ledger that keeps passkeys, and of the demand for a second factor where rights are
// read: races that no order of calls over HTTP shows.

import { expect, test } from 'vitest';
import { fail, isFailure } from '../../../src/contract/failure.ts';
import type { Role } from '../../../src/contract/resource.ts';
import type { NeededRole } from '../../../src/store/ledger-terms.ts';
import { iso, START } from './fleet-fixture.ts';
import { createTenant, expectValue, OPERATOR, type TestTenant, unique } from './ledger-fixture.ts';
import { actorOf, join, LATER, NOW, newSession, open } from './people-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

const SOON = iso(START + 300_000);
const ROUNDS = 5;

export function describePasskeys({ ledger }: LedgerUnderTest): void {
  const challenge = () => ({ text: unique('challenge'), expiresAt: SOON });

  /** A member with a session, as the actor of changes to their own account. */
  async function joined(tenant: TestTenant, role?: Role) {
    const account = await join(ledger, tenant, role);
    return { account, actor: actorOf(account, await open(ledger, account)) };
  }

  function newPasskey(credentialId = unique('credential'), counter = 0) {
    const made = { credentialId, publicKey: 'key', counter, transports: ['internal'] };
    return { ...made, name: 'Key', at: NOW };
  }

  test('a passkey is found with its account, by the name that its authenticator gave it', async () => {
    const { account, actor } = await joined(await createTenant(ledger));
    const passkey = newPasskey();
    const { id } = expectValue(await ledger.addPasskey(passkey, challenge(), actor));
    expect(await ledger.findPasskey(passkey.credentialId)).toMatchObject({
      ...{ id, publicKey: 'key' },
      account: { id: account.id, email: account.email },
    });
    for (const name of ['nobody', '', 'nul\u0000', '\ud800']) {
      expect(await ledger.findPasskey(name)).toBeUndefined();
    }
    expect(await ledger.listPasskeys(account.id)).toMatchObject([
      { id, credentialId: passkey.credentialId, transports: ['internal'], lastUsedAt: null },
    ]);
  });

  test('a password alone opens no session from the first passkey on, also at once', async () => {
    const tenant = await createTenant(ledger);
    for (let round = 0; round < ROUNDS; round++) {
      const { account, actor } = await joined(tenant);
      const [opened, added] = await Promise.all([
        ledger.openSession(account, newSession()),
        ledger.addPasskey(newPasskey(), challenge(), actor),
      ]);
      expectValue(added);
      if (isFailure(opened)) expect(opened).toEqual(fail('secondFactorFirst'));
      expect(await ledger.openSession(account, newSession())).toEqual(fail('secondFactorFirst'));
    }
  });

  test('a provider opens a session of an account with passkeys, which fulfils the demand', async () => {
    const { account, actor } = await joined(await createTenant(ledger));
    expectValue(await ledger.addPasskey(newPasskey(), challenge(), actor));
    const { id, email } = account;
    const identity = { issuer: 'https://id.example', subject: unique('subject') };
    const tokenHash = unique('arrival');
    const arrival = { ...identity, email, isEmailVerified: true, name: 'A Person', roles: [] };
    await ledger.storeArrival(arrival, { tokenHash, at: NOW, expiresAt: LATER });
    const proof = { accountId: id, passwordHash: undefined, actor };
    expectValue(await ledger.joinIdentity(tokenHash, proof, NOW));
    const session = newSession({ openedBy: 'oidc' });
    expectValue(await ledger.openSession({ id, email, identity }, session));
    const found = await ledger.findSession(session.tokenHash, NOW, iso(START - 1));
    expect(found).toMatchObject({ id, isStrong: true });
  });

  test('a challenge opens one session of many at once, and counters never go back', async () => {
    const { account, actor } = await joined(await createTenant(ledger));
    const { id } = expectValue(await ledger.addPasskey(newPasskey(), challenge(), actor));
    const asked = challenge();
    const strong = () => newSession({ openedBy: 'passkey', secondFactor: true });
    const show = (counter: number, of = challenge()) =>
      ledger.openSessionByPasskey(account, { id, counter, challenge: of }, strong());
    const outcomes = await Promise.all(Array.from({ length: 4 }, () => show(5, asked)));
    expect(outcomes.filter((each) => !isFailure(each))).toHaveLength(1);
    expect(outcomes.filter(isFailure)).toEqual(Array(3).fill(fail('staleChallenge')));
    expect(await show(5)).toEqual(fail('wrongPasskey'));
    const both = await Promise.all([show(6), show(6)]);
    expect(both.filter((each) => !isFailure(each))).toHaveLength(1);
    // Forgotten once it has expired; its cookie has by then, too.
    const late = newSession({ at: LATER, openedBy: 'passkey', secondFactor: true });
    const shown = { id, counter: 9, challenge: challenge() };
    expectValue(await ledger.openSessionByPasskey(account, shown, late));
  });

  test('a passkey of another account, or one that was removed, opens no session', async () => {
    const tenant = await createTenant(ledger);
    const [one, two] = [await joined(tenant), await joined(tenant)];
    const { id } = expectValue(await ledger.addPasskey(newPasskey(), challenge(), one.actor));
    const show = (account: typeof one.account) => {
      const shown = { id, counter: 1, challenge: challenge() };
      return ledger.openSessionByPasskey(account, shown, newSession({ openedBy: 'passkey' }));
    };
    expect(await show(two.account)).toEqual(fail('wrongPasskey'));
    expect(await ledger.removePasskey(id, two.actor)).toEqual(fail('unknownPasskey'));
    expectValue(await ledger.removePasskey(id, one.actor));
    expect(await show(one.account)).toEqual(fail('wrongPasskey'));
  });

  test('an account has at most twenty passkeys, also when they come at once', async () => {
    const { account, actor } = await joined(await createTenant(ledger));
    const outcomes = await Promise.all(
      Array.from({ length: 23 }, () => ledger.addPasskey(newPasskey(), challenge(), actor)),
    );
    expect(outcomes.filter(isFailure)).toEqual(Array(3).fill(fail('tooManyPasskeys')));
    expect(await ledger.listPasskeys(account.id)).toHaveLength(20);
  });

  test('a write of a session without a second factor is refused from the demand on', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const tenant = await createTenant(ledger);
      const { organizationId } = tenant;
      const [owner, weak] = [await joined(tenant), await joined(tenant, 'publisher')];
      expectValue(await ledger.addPasskey(newPasskey(), challenge(), owner.actor));
      const needs: NeededRole = { organizationId, role: 'publisher', unknown: 'unknownApp' };
      const actor = { ...weak.actor, needs };
      const publish = (version: string) => tenant.publish(version, {}, { actor });
      const demand = { requireSecondFactor: true };
      const [asked, written] = await Promise.all([
        ledger.updateOrganization(organizationId, demand, { ...owner.actor, needs }),
        publish('1.0.0'),
      ]);
      expectValue(asked);
      if (isFailure(written)) expect(written).toEqual(fail('secondFactorNeeded'));
      expect(await publish('2.0.0')).toEqual(fail('secondFactorNeeded'));
    }
  });

  test('rights are read with the demand: weak sessions have none, the operator has all', async () => {
    const tenant = await createTenant(ledger);
    const { organizationId, app } = tenant;
    const { account } = await joined(tenant);
    const target = { type: 'organization', id: organizationId } as const;
    expectValue(
      await ledger.updateOrganization(organizationId, { requireSecondFactor: true }, OPERATOR),
    );
    for (const read of [
      (id: string | undefined, isStrong?: boolean) => ledger.findAccessRight(id, target, isStrong),
      (id: string | undefined, isStrong?: boolean) => ledger.findAppAccessRight(id, app, isStrong),
    ]) {
      expect(await read(account.id)).toEqual(fail('secondFactorNeeded'));
      expect(await read(account.id, false)).toEqual(fail('secondFactorNeeded'));
      expect(await read(account.id, true)).toMatchObject({ organizationId, role: 'owner' });
      expect(await read(undefined)).toMatchObject({ organizationId, role: 'owner' });
    }
  });
}
