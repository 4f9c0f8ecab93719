// Rules of mails to people on their way into the ledger: one is stored exactly when what it tells of is.

import { expect, test } from 'vitest';
import { isFailure } from '../../../src/contract/failure.ts';
import type { NewMail } from '../../../src/store/delivery-ledger.ts';
import { createSqlLedger } from '../../../src/store/ledger/sql-ledger.ts';
import type { Ledger } from '../../../src/store/ledger.ts';
import type { AccountActor } from '../../../src/store/ledger-terms.ts';
import { iso } from './fleet-fixture.ts';
import { createTenant, expectValue, OPERATOR, unique } from './ledger-fixture.ts';
import { actorOf, join, LATER, NOW, newSession, open } from './people-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

const TIMES = { at: NOW, expiresAt: LATER };

/** A call that tells a person of what it does, with what it needs to succeed and with what it lacks. */
type Telling = {
  readonly done: (ledger: Ledger, mail: NewMail) => Promise<unknown>;
  readonly refused: (ledger: Ledger, mail: NewMail) => Promise<unknown>;
};

export function describePeopleMails({ database, ledger }: LedgerUnderTest): void {
  /** Fails once all is written, as where the node is killed or the database goes away before the commit. */
  const failing = createSqlLedger({
    ...database,
    transaction: (work) =>
      database.transaction(async (sql) => {
        await work(sql);
        throw new Error('gone before the commit');
      }),
  });

  /** A member with a session, and the session's actor. */
  async function joined() {
    const { organizationId } = await createTenant(ledger);
    const account = await join(ledger, { organizationId });
    return { organizationId, account, actor: actorOf(account, await open(ledger, account)) };
  }

  const newPasskey = () => ({
    ...{ credentialId: unique('credential'), publicKey: 'key', counter: 0, transports: [] },
    ...{ name: 'Key', at: NOW },
  });
  const newChallenge = () => ({ text: unique('challenge'), expiresAt: LATER });

  /** What people are told of by mail. */
  const tellings: Readonly<Record<string, () => Promise<Telling>>> = {
    async 'a new passkey'() {
      const { actor } = await joined();
      const [passkey, challenge] = [newPasskey(), newChallenge()];
      const add = (on: Ledger, mail: NewMail, by: AccountActor) =>
        on.addPasskey({ ...passkey, mail }, challenge, by);
      return {
        done: (on, mail) => add(on, mail, actor),
        refused: (on, mail) => add(on, mail, { ...actor, tokenHash: unique('ended') }),
      };
    },
    async 'a removed passkey'() {
      const { actor } = await joined();
      const { id } = expectValue(await ledger.addPasskey(newPasskey(), newChallenge(), actor));
      return {
        done: (on, mail) => on.removePasskey(id, actor, mail),
        refused: (on, mail) => on.removePasskey(id, { ...actor, tokenHash: unique('ended') }, mail),
      };
    },
    async 'a link for lost passkeys'() {
      const { organizationId, account } = await joined();
      const make = (on: Ledger, mail: NewMail, accountId: string) => {
        const mailTo = (email: string) => {
          expect(email).toBe(account.email);
          return mail;
        };
        const recovery = { tokenHash: unique('recovery'), ...TIMES, mailTo };
        const of = { organizationId, accountId };
        return on.createAccountLink('recovery', of, recovery, OPERATOR);
      };
      return {
        done: (on, mail) => make(on, mail, account.id),
        refused: (on, mail) => make(on, mail, 'nobody'),
      };
    },
    async 'the use of a link for lost passkeys'() {
      const { account } = await joined();
      const tokenHash = unique('recovery');
      const recovery = { tokenHash, ...TIMES };
      const { email } = account;
      expectValue(await ledger.createAccountLink('recovery', { email }, recovery, OPERATOR));
      return {
        done: (on, mail) => on.useRecovery(account, tokenHash, NOW, mail),
        refused: (on, mail) => on.useRecovery(account, tokenHash, LATER, mail),
      };
    },
    async 'a sign-in with a password'() {
      const { account } = await joined();
      const enter = (on: Ledger, mail: NewMail, passwordHash: string) =>
        on.openSession({ ...account, passwordHash }, { ...newSession(), mail });
      return {
        done: (on, mail) => enter(on, mail, 'hash'),
        refused: (on, mail) => enter(on, mail, 'another hash'),
      };
    },
    async 'a sign-in with a passkey'() {
      const { account, actor } = await joined();
      const { id } = expectValue(await ledger.addPasskey(newPasskey(), newChallenge(), actor));
      const shown = { id, counter: 1, challenge: newChallenge() };
      const enter = (on: Ledger, mail: NewMail, by: typeof shown) =>
        on.openSessionByPasskey(account, by, { ...newSession(), openedBy: 'passkey', mail });
      return {
        done: (on, mail) => enter(on, mail, shown),
        refused: (on, mail) => enter(on, mail, { ...shown, id: 'nothing' }),
      };
    },
    async 'an invitation'() {
      const { organizationId, account } = await joined();
      const invite = (on: Ledger, mail: NewMail, email: string) => {
        const invitation = { organizationId, tokenHash: unique('token'), email, ...TIMES, mail };
        return on.createInvitation({ ...invitation, role: 'viewer' }, OPERATOR);
      };
      return {
        done: (on, mail) => invite(on, mail, `${unique('invited')}@example.com`),
        refused: (on, mail) => invite(on, mail, account.email),
      };
    },
    async 'a link to a new password'() {
      const { account } = await joined();
      const make = (on: Ledger, mail: NewMail, email: string) => {
        const link = { tokenHash: unique('reset'), ...TIMES, mailTo: () => mail };
        return on.createAccountLink('reset', { email }, link, OPERATOR);
      };
      return {
        done: (on, mail) => make(on, mail, account.email),
        refused: (on, mail) => make(on, mail, 'nobody@example.com'),
      };
    },
  };

  async function stored(mail: NewMail): Promise<readonly object[]> {
    const columns = `id, kind, sealed, expires_at = '${mail.expiresAt}' AS "isOfUse"`;
    return database.query(`SELECT ${columns} FROM outgoing_mails WHERE id = $1`, [mail.id]);
  }

  test.each(Object.keys(tellings))('the mail of %s is there exactly when that is', async (name) => {
    const { done, refused } = (await tellings[name]?.()) ?? expect.unreachable();
    const mail: NewMail = {
      ...{ id: unique('mail'), kind: 'sign-in', sealed: 'sealed' },
      expiresAt: iso(Date.now() + 3_600_000),
    };
    expect(isFailure(await refused(ledger, mail))).toBe(true);
    expect(await stored(mail)).toEqual([]);
    await expect(done(failing, mail)).rejects.toThrow('gone before the commit');
    expect(await stored(mail)).toEqual([]);
    expect(isFailure(await done(ledger, mail))).toBe(false);
    const { id, kind, sealed } = mail;
    expect(await stored(mail)).toEqual([{ id, kind, sealed, isOfUse: true }]);
  });
}
