// Tests how long a session lasts, by a clock that the test moves, on a ledger of its own.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { Accounts, type AwaitsPasskey, type SignedIn } from '../../../../src/access/accounts.ts';
import { Members } from '../../../../src/access/members.ts';
import { OneTimeLinks } from '../../../../src/access/one-time-links.ts';
import { Passwords } from '../../../../src/access/passwords.ts';
import {
  type Client,
  FailedSignIns,
  KnownBrowsers,
  LoginThrottle,
  SignInGate,
} from '../../../../src/access/sign-in-limits.ts';
import type { Outcome } from '../../../../src/contract/failure.ts';
import { isoTime } from '../../../../src/contract/text.ts';
import { createLog } from '../../../../src/observe/log.ts';
import { Metrics } from '../../../../src/observe/metrics.ts';
import { RareLog } from '../../../../src/observe/rare-log.ts';
import { createSqlLedger } from '../../../../src/store/ledger/sql-ledger.ts';
import { createMemoryEngine } from '../../../../src/store/memory/memory-engine.ts';
import { tokenIn } from '../../../support/person.ts';
import { expectValue } from '../ledger-fixture.ts';
import { openTestDatabase, type TestDatabase } from '../test-database.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const PASSWORD = 'correct horse battery';
const EMAIL = 'owner@example.com';
const HOME = { address: 'home', browser: undefined, agent: undefined };

let opened: TestDatabase;
let accounts: Accounts;
let members: Members;
let links: OneTimeLinks;
let organizationId: string;
let nowMs = Date.UTC(2026, 2, 29);
let mailCount = 0;

beforeAll(async () => {
  opened = await openTestDatabase();
  const ledger = createSqlLedger(opened.database);
  const engine = createMemoryEngine({ now: () => nowMs });
  const plain = {
    hash: async (password: string) => `plain ${password}`,
    verify: async (hash: string, password: string) => hash === `plain ${password}`,
  };
  const metrics = new Metrics();
  const passwords = new Passwords(plain);
  const throttle = new LoginThrottle({ engine, alone: engine, metrics });
  const browsers = new KnownBrowsers(ledger);
  const failed = new FailedSignIns(ledger, new RareLog(createLog('silent')));
  const gate = new SignInGate({ ledger, passwords, throttle, browsers, failed, metrics });
  const now = () => nowMs;
  links = new OneTimeLinks({ ledger, throttle, mail: () => undefined, now });
  const shared = { ledger, links, passwords, throttle, browsers, gate, arePasswordsOn: true, now };
  accounts = new Accounts({
    ...shared,
    adminTokens: () => ['admin'],
    newBrowserMail: (...news) => ({
      ...{ id: `mail_${++mailCount}`, kind: 'sign-in' },
      ...{ sealed: JSON.stringify(news), expiresAt: isoTime(nowMs + DAY_MS) },
    }),
  });
  members = new Members({ ...shared, accounts });
  const request = {
    token: 'admin',
    email: EMAIL,
    name: 'O',
    password: PASSWORD,
    organization: 'A',
  };
  const { account } = signedIn(await accounts.setUp(request, HOME));
  const [membership] = await accounts.listMemberships(account.id);
  organizationId = membership?.organization.id ?? '';
});
afterAll(() => opened?.dispose());

/** Returns the session that was opened: no account here has a passkey. */
function signedIn(outcome: Outcome<SignedIn | AwaitsPasskey>): SignedIn {
  const opened = expectValue(outcome);
  if ('awaits' in opened) throw new Error('a passkey is awaited');
  return opened;
}

async function signIn(): Promise<SignedIn> {
  nowMs += HOUR_MS;
  return signedIn(await accounts.signIn({ email: EMAIL, password: PASSWORD }, HOME, undefined));
}

/** Reads what people are told of new browsers. */
async function told(): Promise<readonly unknown[]> {
  const mails = await opened.database.query<{ sealed: string }>(
    'SELECT sealed FROM outgoing_mails ORDER BY id',
  );
  return mails.map(({ sealed }) => JSON.parse(sealed));
}

it('a person is told of a sign-in from a browser that the account had not, however it began', async () => {
  expect(await told()).toEqual([]);
  const { browser } = await signIn();
  expect(await told()).toEqual([[EMAIL, 'home', nowMs]]);
  const known = { ...HOME, browser };
  signedIn(await accounts.signIn({ email: EMAIL, password: PASSWORD }, known, undefined));
  const ledger = createSqlLedger(opened.database);
  const person = { issuer: 'https://id.example', subject: 'o', email: EMAIL, name: 'O' };
  const times = { at: isoTime(nowMs), expiresAt: isoTime(nowMs + HOUR_MS) };
  const arrival = { ...person, isEmailVerified: true, roles: [] };
  await ledger.storeArrival(arrival, { tokenHash: 'arrival', ...times });
  const account = await ledger.findAccount(EMAIL);
  const actor = { kind: 'token', email: EMAIL } as const;
  const proof = { accountId: account?.id ?? '', passwordHash: `plain ${PASSWORD}`, actor };
  const entered = expectValue(await ledger.joinIdentity('arrival', proof, isoTime(nowMs)));
  const begin = async (client: Client, isNew: boolean) =>
    expectValue(await accounts.beginByProvider({ ...entered, isNew }, client));
  await begin(known, false);
  expect(await told()).toHaveLength(1);
  await begin({ ...HOME, address: 'away' }, false);
  await begin(HOME, true);
  expect((await told()).slice(1)).toEqual([[EMAIL, 'away', nowMs]]);
});

it('a session ends when it was not used for twelve hours', async () => {
  const { token } = await signIn();
  for (let count = 0; count < 5; count++) {
    nowMs += 12 * HOUR_MS - 1;
    expect(await accounts.find(token)).toMatchObject({ account: { email: EMAIL } });
  }
  nowMs += 12 * HOUR_MS;
  expect(await accounts.find(token)).toBeUndefined();
  // Asking for an expired session does not bring it back.
  expect(await accounts.find(token)).toBeUndefined();
});

it('a session ends after fourteen days, however much it is used', async () => {
  const { token } = await signIn();
  const end = nowMs + 14 * DAY_MS;
  while (nowMs + 11 * HOUR_MS < end) {
    nowMs += 11 * HOUR_MS;
    expect(await accounts.find(token)).toBeDefined();
  }
  nowMs = end - 1;
  expect(await accounts.find(token)).toBeDefined();
  nowMs = end;
  expect(await accounts.find(token)).toBeUndefined();
});

it('a token is kept as its hash alone', async () => {
  const { token } = await signIn();
  const rows = await opened.database.query<{ row: string }>(
    'SELECT sessions::text AS row FROM sessions',
  );
  expect(rows.length).toBeGreaterThan(0);
  expect(rows.some(({ row }) => row.includes(token))).toBe(false);
});

it('an invitation ends after seven days', async () => {
  const actor = { kind: 'admin-token' } as const;
  const invite = async (email: string) =>
    tokenIn(expectValue(await members.invite(organizationId, email, 'viewer', actor, '')).url);
  const [early, late] = [await invite('early@example.com'), await invite('late@example.com')];
  nowMs += 7 * DAY_MS - 1;
  const accept = (token: string) => members.accept({ token, name: 'N', password: PASSWORD }, HOME);
  expect(signedIn(await accept(early)).account.email).toBe('early@example.com');
  nowMs += 1;
  expect(await links.read('invitation', late, 'elsewhere')).toMatchObject({
    failure: 'unknownInvitation',
  });
  expect(await accept(late)).toMatchObject({ failure: 'unknownInvitation' });
});
