// Rules of the part of the ledger that keeps people.

import { expect, test } from 'vitest';
import { fail } from '../../../src/contract/failure.ts';
import type { Role } from '../../../src/contract/resource.ts';
import type { Actor } from '../../../src/store/ledger-terms.ts';
import { iso, START } from './fleet-fixture.ts';
import { createTenant, expectValue, UNKNOWN_NAMES, unique } from './ledger-fixture.ts';
import { actorOf, join, LATER, NOW, newSession, open } from './people-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

const EARLIER = iso(START - 86_400_000);
const PERSON: Actor = { kind: 'token', email: 'owner@example.com' };

export function describeAccounts({ ledger }: LedgerUnderTest): void {
  function newAccount(email = `${unique('person')}@example.com`) {
    return { email, name: 'A Person', passwordHash: `hash of ${email}` };
  }

  test('the first account owns a new organization and every other; of several at once one is first', async () => {
    const tenant = await createTenant(ledger);
    expect(await ledger.isSetUp()).toBe(false);
    const outcomes = await Promise.all(
      Array.from({ length: 4 }, () => ledger.createFirstAccount(newAccount(), 'First')),
    );
    const made = outcomes.filter((outcome) => 'id' in outcome);
    expect(made).toHaveLength(1);
    expect(outcomes.filter((outcome) => 'failure' in outcome)).toEqual(
      Array(3).fill(fail('alreadySetUp')),
    );
    expect(await ledger.isSetUp()).toBe(true);
    const { id } = expectValue(made[0] ?? fail('internal'));
    const memberships = await ledger.listMemberships(id);
    const organizations = memberships.map(({ organization }) => organization.id);
    expect(organizations).toContain(tenant.organizationId);
    expect(memberships.map(({ organization }) => organization.name)).toContain('First');
    expect(new Set(memberships.map(({ role }) => role))).toEqual(new Set(['owner']));
  });

  test('a session is found until it expires, idles too long, or ends; using it keeps it', async () => {
    const account = await join(ledger, await createTenant(ledger), 'viewer');
    const { id, email, name } = account;
    const shown = { id, email, name };
    const token = await open(ledger, account);
    expect(await ledger.findSession(token, NOW, EARLIER)).toMatchObject(shown);
    expect(await ledger.findSession(token, LATER, EARLIER)).toBeUndefined();
    expect(await ledger.findSession(token, NOW, NOW)).toBeUndefined();
    const used = iso(START + 60_000);
    expect(await ledger.findSession(token, used, EARLIER)).toMatchObject(shown);
    expect(await ledger.findSession(token, used, NOW)).toMatchObject(shown);
    await ledger.endSession(token);
    await ledger.endSession(token);
    expect(await ledger.findSession(token, NOW, EARLIER)).toBeUndefined();
  });

  test('no session begins with a password that was changed, and others end with the change', async () => {
    const account = await join(ledger, await createTenant(ledger), 'viewer');
    const [kept, other] = [await open(ledger, account), await open(ledger, account)];
    const actor = actorOf(account, kept);
    expect(await ledger.changePassword('wrong', 'new', actor)).toBeUndefined();
    expect(await ledger.changePassword(account.passwordHash, 'new', actor)).toBe(2);
    expect(await ledger.findSession(kept, NOW, EARLIER)).toBeDefined();
    expect(await ledger.findSession(other, NOW, EARLIER)).toBeUndefined();
    expect(await ledger.openSession(account, newSession())).toEqual(fail('wrongLogin'));
    await ledger.endSessions(account.id);
    expect(await ledger.findSession(kept, NOW, EARLIER)).toBeUndefined();
    expect(await ledger.changePassword('new', 'newer', actor)).toEqual(fail('signedOut'));
  });

  test('an account has a bounded number of sessions, and expired ones go first', async () => {
    const account = await join(ledger, await createTenant(ledger), 'viewer');
    const tokens: string[] = [];
    for (let index = 0; index < 22; index++)
      tokens.push(await open(ledger, account, iso(START + index)));
    const found = await Promise.all(tokens.map((each) => ledger.findSession(each, NOW, EARLIER)));
    expect(found.filter((each) => each !== undefined)).toHaveLength(20);
    expect(found.slice(0, 2)).toEqual([undefined, undefined]);
  });

  test('what is in no organization of the account is unknown; the operator owns everything', async () => {
    const [mine, theirs] = [await createTenant(ledger), await createTenant(ledger)];
    const { id } = await join(ledger, mine, 'publisher');
    const organizationId = mine.organizationId;
    const right = { organizationId, role: 'publisher' };
    const targets = [
      { type: 'organization', id: organizationId },
      { type: 'key', id: (await mine.key()).id },
    ] as const;
    for (const target of targets) {
      expect(await ledger.findAccessRight(id, target)).toEqual(right);
      expect(await ledger.findAccessRight(undefined, target)).toEqual({ ...right, role: 'owner' });
    }
    for (const app of [mine.app, mine.appId]) {
      expect(await ledger.findAppAccessRight(id, app)).toMatchObject({
        ...right,
        app: { id: mine.appId, ref: mine.app },
      });
    }
    const foreign = { type: 'organization', id: theirs.organizationId } as const;
    expect(await ledger.findAccessRight(id, foreign)).toEqual(fail('unknownOrganization'));
    for (const name of [theirs.app, theirs.appId, ...UNKNOWN_NAMES]) {
      expect(await ledger.findAppAccessRight(id, name)).toEqual(fail('unknownApp'));
    }
    for (const name of UNKNOWN_NAMES) {
      expect(await ledger.findAccessRight(undefined, { type: 'key', id: name })).toEqual(
        fail('unknownKey'),
      );
      const invitation = { type: 'invitation', id: name } as const;
      expect(await ledger.findAccessRight(id, invitation)).toEqual(fail('unknownInvitation'));
      expect(await ledger.findAccount(name)).toBeUndefined();
    }
  });

  test('an organization keeps an owner, whatever happens at once', async () => {
    const tenant = await createTenant(ledger);
    const org = tenant.organizationId;
    const owners = [await join(ledger, tenant, 'owner'), await join(ledger, tenant, 'owner')];
    const outcomes = await Promise.all(
      owners.map(({ id }, index) =>
        ledger.changeMember(org, id, index === 0 ? 'viewer' : undefined, PERSON),
      ),
    );
    expect(outcomes.filter((outcome) => 'failure' in outcome)).toEqual([fail('lastOwner')]);
    expect((await ledger.listMembers(org)).filter(({ role }) => role === 'owner')).toHaveLength(1);
    for (const name of UNKNOWN_NAMES) {
      expect(await ledger.changeMember(org, name, 'viewer', PERSON)).toEqual(fail('unknownMember'));
      expect(await ledger.changeMember(name, owners[0]?.id ?? '', 'viewer', PERSON)).toEqual(
        fail('unknownOrganization'),
      );
    }
  });

  test('members are listed with their roles, owners first, and every change is audited once', async () => {
    const tenant = await createTenant(ledger);
    const org = tenant.organizationId;
    const viewer = await join(ledger, tenant, 'viewer');
    const owner = await join(ledger, tenant, 'owner');
    await ledger.changeMember(org, viewer.id, 'publisher', PERSON);
    await ledger.changeMember(org, viewer.id, 'publisher', PERSON);
    expect((await ledger.listMembers(org)).map(({ account, role }) => [account.id, role])).toEqual([
      [owner.id, 'owner'],
      [viewer.id, 'publisher'],
    ]);
    await ledger.changeMember(org, viewer.id, undefined, PERSON);
    await ledger.updateOrganization(org, { name: 'Renamed' }, PERSON);
    await ledger.updateOrganization(org, { name: 'Renamed' }, PERSON);
    const page = expectValue(await ledger.listAudit(org, { limit: 4 }));
    const actor = 'account:owner@example.com';
    const names = { before: { name: `Org of ${tenant.app}` }, after: { name: 'Renamed' } };
    expect(page.entries.slice(0, 3)).toMatchObject([
      { actor, action: 'organization.update', ...names },
      { actor, action: 'member.remove', before: { role: 'publisher' }, after: null },
      {
        ...{ actor, action: 'member.update' },
        ...{ before: { role: 'viewer' }, after: { role: 'publisher' } },
      },
    ]);
  });

  test('an invitation works once, until it expires, for its own email; nobody loses a role by it', async () => {
    const tenant = await createTenant(ledger);
    const { organizationId } = tenant;
    const account = newAccount();
    const invite = async (role: Role, email = account.email) => {
      const tokenHash = unique('token');
      const invitation = { organizationId, tokenHash, email, role, at: NOW, expiresAt: LATER };
      const { id } = expectValue(await ledger.createInvitation(invitation, PERSON));
      return { id, tokenHash };
    };
    const accept = (tokenHash: string, now = NOW, who = account, isNew = true) =>
      ledger.acceptInvitation(tokenHash, { ...who, as: isNew ? 'new' : 'known' }, now);
    const { tokenHash } = await invite('publisher');
    expect(await ledger.findLink('invitation', tokenHash, NOW)).toMatchObject({
      organization: { id: organizationId },
      role: 'publisher',
      email: account.email,
    });
    expect(await ledger.findLink('invitation', tokenHash, LATER)).toBeUndefined();
    const unknown = fail('unknownInvitation');
    expect(await accept(tokenHash, LATER)).toEqual(unknown);
    expect(await accept(tokenHash, NOW, newAccount())).toEqual(unknown);
    const outcomes = await Promise.all(Array.from({ length: 3 }, () => accept(tokenHash)));
    expect(outcomes.filter((outcome) => 'id' in outcome)).toHaveLength(1);
    expect(await accept(tokenHash, NOW, account, false)).toEqual(unknown);
    const again = { organizationId, tokenHash: unique('t'), email: account.email } as const;
    const times = { role: 'viewer', at: NOW, expiresAt: LATER } as const;
    const refused = await ledger.createInvitation({ ...again, ...times }, PERSON);
    expect(refused).toEqual(fail('alreadyMember'));
    const revoked = await invite('viewer', 'revoked@example.com');
    expectValue(await ledger.revokeInvitation(revoked.id, NOW, PERSON));
    expect(await accept(revoked.tokenHash, NOW, newAccount('revoked@example.com'))).toEqual(
      unknown,
    );
    expect(await ledger.listInvitations(organizationId, NOW)).toEqual([]);
    for (const name of UNKNOWN_NAMES) {
      expect(await ledger.revokeInvitation(name, NOW, PERSON)).toEqual(unknown);
    }
  });
}
