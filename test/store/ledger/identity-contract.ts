// Rules of the part of the ledger with people whom an OpenID Connect provider knows.

import { expect, test } from 'vitest';
import { fail } from '../../../src/contract/failure.ts';
import type { Role } from '../../../src/contract/resource.ts';
import type { Arrival, Entered, Identity } from '../../../src/store/account-ledger.ts';
import type { Database } from '../../../src/store/ledger/database/database.ts';
import { createSqlLedger } from '../../../src/store/ledger/sql-ledger.ts';
import { createTenant, expectValue, OPERATOR, unique } from './ledger-fixture.ts';
import { invite, LATER, NOW, newSession } from './people-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

const ISSUER = 'https://id.example';

export function describeIdentities({ database, ledger }: LedgerUnderTest): void {
  function anArrival(organization?: string, role: Role = 'viewer'): Arrival & { email: string } {
    const subject = unique('subject');
    const roles = organization === undefined ? [] : [{ organization, role }];
    const email = `${subject}@example.com`;
    return { issuer: ISSUER, subject, email, isEmailVerified: true, name: 'Olga', roles };
  }

  const enter = async (arrival: Arrival): Promise<Entered> =>
    expectValue(await ledger.enterByIdentity(arrival, NOW));

  async function roleOf({ account }: Entered, organizationId: string): Promise<string | undefined> {
    const members = await ledger.listMembers(organizationId);
    return members.find((member) => member.account.id === account.id)?.role;
  }

  async function takeIdentity({ subject }: Identity): Promise<void> {
    await database.query('DELETE FROM oidc_identities WHERE subject = $1', [subject]);
  }

  async function wait(arrival: Arrival & { email: string }): Promise<string> {
    const tokenHash = unique('arrival');
    await ledger.storeArrival(arrival, { tokenHash, at: NOW, expiresAt: LATER });
    return tokenHash;
  }

  test('many first arrivals of a person at once are one account, without a password', async () => {
    const { organizationId } = await createTenant(ledger);
    const arrival = anArrival(organizationId, 'publisher');
    const entered = await Promise.all(Array.from({ length: 6 }, () => enter(arrival)));
    expect(new Set(entered.map(({ account }) => account.id)).size).toBe(1);
    expect(entered.filter(({ isNew }) => isNew)).toHaveLength(1);
    const [first] = entered;
    expect(first?.account).toMatchObject({ passwordHash: null, email: arrival.email });
    expect(first && (await roleOf(first, organizationId))).toBe('publisher');
  });

  test('a subject of another issuer is another person, and takes no account by its address', async () => {
    const { organizationId } = await createTenant(ledger);
    const arrival = anArrival(organizationId);
    await enter(arrival);
    const other = { ...arrival, issuer: 'https://other.example', roles: [] };
    expect(await ledger.enterByIdentity(other, NOW)).toEqual(fail('accountKnown'));
    const { email: _, ...nameless } = anArrival();
    const without = { ...nameless, email: undefined };
    expect(await ledger.enterByIdentity(without, NOW)).toEqual(fail('unknownAccount'));
  });

  async function setPassword(email: string): Promise<void> {
    const link = { tokenHash: unique('link'), at: NOW, expiresAt: LATER };
    expectValue(await ledger.createAccountLink('reset', { email }, link, OPERATOR));
    expectValue(await ledger.usePasswordReset(link.tokenHash, 'hash', NOW));
  }

  test('a link to a new password leaves nobody else a way into an account without a membership', async () => {
    const { organizationId } = await createTenant(ledger);
    const [alone, ofMember] = [anArrival(), anArrival(organizationId)];
    for (const arrival of [alone, ofMember]) {
      await enter(arrival);
      await setPassword(arrival.email);
    }
    expect(await ledger.enterByIdentity(alone, NOW)).toEqual(fail('accountKnown'));
    expect((await enter(ofMember)).account).toMatchObject({ email: ofMember.email });
  });

  const unverified = (arrival: ReturnType<typeof anArrival>) => ({
    ...arrival,
    isEmailVerified: false,
  });
  const another = (arrival: ReturnType<typeof anArrival>) => ({
    ...arrival,
    subject: unique('subject'),
    name: 'Olga herself',
  });

  test('an unverified address makes an account only where a group or an invitation is there for it (§31.11)', async () => {
    const { organizationId } = await createTenant(ledger);
    const nothing = unverified(anArrival());
    const ofUnknown = unverified(anArrival('Nobody'));
    for (const arrival of [nothing, ofUnknown]) {
      expect(await ledger.enterByIdentity(arrival, NOW)).toEqual(fail('unknownAccount'));
      expect(await ledger.findAccount(arrival.email)).toBeUndefined();
    }
    const ofGroup = await enter(unverified(anArrival(organizationId)));
    expect(await roleOf(ofGroup, organizationId)).toBe('viewer');
    await invite(ledger, organizationId, nothing.email);
    expect(await ledger.enterByIdentity(nothing, LATER)).toEqual(fail('unknownAccount'));
    expect(await roleOf(await enter(nothing), organizationId)).toBeUndefined();
  });

  test('a verified address takes over its account where that is unused, and its maker loses it (§31.11)', async () => {
    const { organizationId } = await createTenant(ledger);
    const real = anArrival();
    const maker = unverified(another(real));
    await invite(ledger, organizationId, real.email);
    const made = await enter(maker);
    const session = newSession({ openedBy: 'oidc' });
    const { id, email } = made.account;
    expectValue(await ledger.openSession({ id, email, identity: maker }, session));
    const taken = await enter({ ...real, name: 'Olga herself' });
    expect(taken).toMatchObject({ isNew: true, account: { id, email, name: 'Olga herself' } });
    expect(await ledger.findAccount(email)).toMatchObject({ name: 'Olga herself' });
    expect(await roleOf(taken, organizationId)).toBe('viewer');
    expect(await ledger.findSession(session.tokenHash, NOW, NOW)).toBeUndefined();
    expect(await ledger.enterByIdentity(maker, NOW)).toEqual(fail('unknownAccount'));
    const filter = { subject: email, limit: 9 };
    const audit = expectValue(await ledger.listAudit(organizationId, filter));
    expect(audit.entries.map(({ action, after }) => [action, after])).toEqual([
      ['account.take-over', { issuer: ISSUER }],
      ['member.join', { role: 'viewer' }],
      ['invitation.create', expect.anything()],
    ]);
  });

  test('an account with a password, a passkey or a membership is taken over by no address (§31.11)', async () => {
    const { organizationId } = await createTenant(ledger);
    const withRight = anArrival(organizationId);
    const withPassword = anArrival();
    const withPasskey = anArrival();
    const entered = [];
    for (const arrival of [withRight, withPassword, withPasskey])
      entered.push(await enter(arrival));
    await setPassword(withPassword.email);
    await database.query(
      `INSERT INTO passkeys (id, account_id, credential_id, public_key, counter, transports, name, created_at)
       SELECT $1, id, $1, 'key', 0, '{}', 'Key', now() FROM accounts WHERE email = $2`,
      [unique('passkey'), withPasskey.email],
    );
    for (const arrival of [withRight, withPassword, withPasskey]) {
      const known = await ledger.findAccount(arrival.email);
      const stranger = { ...another(arrival), roles: [] };
      expect(await ledger.enterByIdentity(stranger, NOW)).toEqual(fail('accountKnown'));
      expect(await ledger.findAccount(arrival.email)).toEqual(known);
    }
    // Nothing was taken from them on the way.
    expect(await roleOf(await enter(withRight), organizationId)).toBe('viewer');
    expect((await enter(withPasskey)).account.id).toBe(entered[2]?.account.id);
  });

  test('of many verified arrivals at once one takes an unused account over', async () => {
    const { organizationId } = await createTenant(ledger);
    const maker = anArrival();
    await enter(maker);
    const real = { ...another(maker), roles: anArrival(organizationId).roles };
    const all = await Promise.all(
      Array.from({ length: 6 }, () => ledger.enterByIdentity(real, NOW)),
    );
    const entered = all.map((outcome) => expectValue(outcome));
    expect(new Set(entered.map(({ account }) => account.id)).size).toBe(1);
    expect(entered.filter(({ isNew }) => isNew)).toHaveLength(1);
    expect(await ledger.enterByIdentity(maker, NOW)).toEqual(fail('accountKnown'));
  });

  test('groups give by id or by a name that one organization has, and what people gave stays', async () => {
    const { organizationId } = await createTenant(ledger);
    const name = unique('organization');
    const named = expectValue(await ledger.createOrganization(name, OPERATOR));
    const person = anArrival(organizationId);
    const both = [...person.roles, { organization: name, role: 'owner' as const }];
    const entered = await enter({ ...person, roles: both });
    expect(await roleOf(entered, named.id)).toBe('owner');
    expectValue(await ledger.createOrganization(name, OPERATOR));
    const renewed = await enter({ ...person, roles: both });
    expect(renewed.ownerless).toEqual([named.id]);
    expect(await roleOf(entered, named.id)).toBeUndefined();
    const change = (role: Role) =>
      ledger.changeMember(organizationId, entered.account.id, role, OPERATOR);
    await change('publisher');
    await enter(person);
    expect(await roleOf(entered, organizationId)).toBe('viewer');
    await enter({ ...person, roles: [] });
    expect(await roleOf(entered, organizationId)).toBeUndefined();
  });

  test('an arrival joins the account that was proved, once, and nothing after a change of the password', async () => {
    const { organizationId } = await createTenant(ledger);
    const arrival = anArrival(organizationId, 'owner');
    const { email } = arrival;
    const tokenHash = await invite(ledger, organizationId, email);
    const joining = { email, name: 'A Person', passwordHash: 'hash', as: 'new' } as const;
    const { id: accountId } = expectValue(await ledger.acceptInvitation(tokenHash, joining, NOW));
    const actor = { kind: 'token', email } as const;
    const proof = { accountId, passwordHash: 'hash', actor };
    const waiting = await wait(arrival);
    expect(await ledger.findLink('arrival', waiting, NOW)).toEqual({ email });
    expect(await ledger.findLink('arrival', waiting, LATER)).toBeUndefined();
    const gone = fail('unknownArrival');
    const changed = { ...proof, passwordHash: 'old' };
    expect(await ledger.joinIdentity(waiting, changed, NOW)).toEqual(gone);
    expect(await ledger.joinIdentity(waiting, { ...proof, accountId: 'other' }, NOW)).toEqual(gone);
    expect(await ledger.joinIdentity(waiting, proof, LATER)).toEqual(gone);
    const tries = await Promise.all(
      Array.from({ length: 4 }, () => ledger.joinIdentity(waiting, proof, NOW)),
    );
    expect(tries.filter((outcome) => 'account' in outcome)).toHaveLength(1);
    const entered = await enter(arrival);
    expect(entered.account.id).toBe(accountId);
    expect(await roleOf(entered, organizationId)).toBe('owner');
    await enter({ ...arrival, roles: [] });
    expect(await roleOf(entered, organizationId)).toBe('viewer');
    const second = await wait({ ...arrival, subject: unique('subject') });
    expect(await ledger.joinIdentity(second, proof, NOW)).toEqual(fail('identityTaken'));
  });

  test('an account without membership that an invitation claims is no longer that of the provider', async () => {
    const { organizationId } = await createTenant(ledger);
    const arrival = anArrival();
    const { account } = await enter(arrival);
    const { email } = arrival;
    const tokenHash = await invite(ledger, organizationId, email);
    const joining = { email, name: 'A Person', passwordHash: 'hash', as: 'claimed' } as const;
    const claimed = expectValue(await ledger.acceptInvitation(tokenHash, joining, NOW));
    expect(claimed.id).toBe(account.id);
    expect(await ledger.enterByIdentity(arrival, NOW)).toEqual(fail('accountKnown'));
  });

  test('an identity that is taken while its person comes in gives no role', async () => {
    const { organizationId } = await createTenant(ledger);
    // An account without a right would be taken over (§31.11).
    const arrival = anArrival((await createTenant(ledger)).organizationId);
    const entered = await enter(arrival);
    let isTaken = false;
    const takenOnceRead: Database = {
      ...database,
      async query<Row>(text: string, values?: readonly unknown[], timeoutMs?: number) {
        const rows = await database.query<Row>(text, values, timeoutMs);
        if (!isTaken && text.includes('FROM oidc_identities')) {
          isTaken = true;
          await takeIdentity(arrival);
        }
        return rows;
      },
    };
    const roles = [{ organization: organizationId, role: 'owner' as const }];
    const outcome = await createSqlLedger(takenOnceRead).enterByIdentity(
      { ...arrival, roles },
      NOW,
    );
    expect(isTaken).toBe(true);
    expect(outcome).toEqual(fail('accountKnown'));
    expect(await roleOf(entered, organizationId)).toBeUndefined();
  });

  test('a provider opens a session of an account only while the identity is that of the account', async () => {
    const arrival = anArrival();
    const { id, email } = (await enter(arrival)).account;
    const { issuer, subject } = arrival;
    const other = anArrival();
    await enter(other);
    const openBy = (identity: Identity | undefined) => {
      return ledger.openSession({ id, email, identity }, newSession({ openedBy: 'oidc' }));
    };
    const refused = fail('wrongLogin');
    expect(await openBy({ issuer, subject })).toBe(1);
    expect(await openBy({ issuer, subject: other.subject })).toEqual(refused);
    expect(await openBy({ issuer: 'https://other.example', subject })).toEqual(refused);
    expect(await openBy(undefined)).toEqual(refused);
    await takeIdentity(arrival);
    expect(await openBy({ issuer, subject })).toEqual(refused);
  });
}
