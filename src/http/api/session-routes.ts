// Routes of the console API for accounts and sessions: the first account, signing in and out, with a password
// or a passkey, changing and resetting the password, accepting an invitation.

import { z } from 'zod';
import type { AwaitsPasskey, Session, SignedIn } from '../../access/accounts.ts';
import type { OneTimeLinks } from '../../access/one-time-links.ts';
import type { PasskeyQuestion } from '../../access/passkeys.ts';
import type { Client } from '../../access/sign-in-limits.ts';
import type { NoContent, PasskeyOptions, SessionState } from '../../contract/console.ts';
import { fail, isFailure, type Outcome } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { LinkKind } from '../../store/account-ledger.ts';
import {
  browserCookie,
  type ConsoleRoutes,
  challengeCookie,
  isOwnOrigin,
  routeOf,
  sessionCookie,
  setBrowserCookie,
  setChallengeCookie,
  setSessionCookie,
} from '../endpoint/console-route.ts';
import {
  emailField,
  newEmailField,
  newPasswordField,
  textField,
  titleField,
} from '../endpoint/field.ts';
import { parseBody, parseQuery } from '../endpoint/parse-shape.ts';
import { shownPasskeyField } from '../endpoint/passkey-body.ts';
import { clientAddress } from '../transport/client-address.ts';
import type { Exchange, Handler } from '../transport/exchange.ts';
import {
  failureReply,
  type HeaderPair,
  jsonReply,
  type Reply,
  unstored,
} from '../transport/reply.ts';
import type { Route } from '../transport/router.ts';
import type { AdmittingServices } from './console-services.ts';

const BODY_BYTES_MAX = 16 * 1024;

const secretField = textField(LIMIT.nameLengthMax);
const presentPasswordField = textField(LIMIT.passwordLengthMax);

const setUpBody = z.strictObject({
  token: textField(1024),
  email: newEmailField,
  name: titleField,
  password: newPasswordField,
  organization: titleField,
});
const organizationBody = z.strictObject({ token: textField(1024), organization: titleField });
const signInBody = z.strictObject({ email: emailField, password: presentPasswordField });
const passwordBody = z.strictObject({ current: presentPasswordField, next: newPasswordField });
const tokenQuery = z.object({ token: secretField });
const invitationBody = z.strictObject({
  token: secretField,
  name: titleField,
  password: newPasswordField,
});
const recoveryBody = z.strictObject({ token: secretField, password: presentPasswordField });
const passkeyBody = z.strictObject({ credential: shownPasskeyField });
const noBody = z.strictObject({});
const acceptBody = z.strictObject({ token: secretField });
const resetBody = z.strictObject({ token: secretField, password: newPasswordField });

/** Builds the routes for accounts and sessions. */
export function sessionRoutes(
  routes: ConsoleRoutes,
  dependencies: AdmittingServices,
): readonly Route[] {
  const { accounts, members, links, passkeys, trustProxy } = dependencies;
  const open = createOpen(dependencies);
  const small = { bodyBytesMax: BODY_BYTES_MAX };
  const clientOf = (exchange: Exchange) => clientIn(exchange, trustProxy);
  return [
    routeOf('GET session', readSession(dependencies)),
    open('setup', 201, setUpBody, (body, exchange) => accounts.setUp(body, clientOf(exchange))),
    open('session', 200, signInBody, (body, exchange) =>
      accounts.signIn(body, clientOf(exchange), sessionCookie(exchange)),
    ),
    open('invitation', 201, invitationBody, (body, exchange) =>
      members.accept(body, clientOf(exchange)),
    ),
    open('password-reset', 200, resetBody, (body, exchange) =>
      accounts.resetPassword(body, clientOf(exchange)),
    ),
    askForPasskey(dependencies),
    open('session/passkey', 200, passkeyBody, ({ credential }, exchange) =>
      passkeys.signIn(
        credential,
        challengeCookie(exchange),
        clientOf(exchange),
        sessionCookie(exchange),
      ),
    ),
    open('recovery', 200, recoveryBody, (body, exchange) =>
      passkeys.recover(body, clientOf(exchange)),
    ),
    readToken('recovery', 'recovery', links, trustProxy),
    readToken('invitation', 'invitation', links, trustProxy),
    readToken('password-reset', 'reset', links, trustProxy),
    // A person who is signed in creates the first organization with the admin token.
    routes.on('POST setup/organization', 'person', {
      ...small,
      input: organizationBody,
      status: 201,
    })(({ session }, body, exchange) => accounts.setUpAs(session, body, clientOf(exchange))),
    routes.on('POST invitation/accept', 'person', { ...small, input: acceptBody })(
      ({ session }, { token }, exchange) =>
        members.acceptAs(session, token, addressIn(exchange, trustProxy)),
    ),
    ...endRoutes(dependencies),
    changePassword(dependencies),
  ];
}

/** Builds a GET route that returns to the holder of a one-time token what it is for. */
export function readToken(
  path: string,
  kind: LinkKind | 'recipient',
  links: OneTimeLinks,
  trustProxy: number,
): Route {
  return routeOf(`GET ${path}`, async (exchange) => {
    const query = parseQuery(exchange, tokenQuery);
    const found = isFailure(query)
      ? query
      : await links.read(kind, query.token, addressIn(exchange, trustProxy));
    return unstored(isFailure(found) ? failureReply(found) : jsonReply(200, found.offer));
  });
}

/** Builds the route that changes a person's password. The browser gets a new cookie as a known browser. */
function changePassword({ accounts, admit, consoleUrl }: AdmittingServices): Route {
  const handler = admit(
    async (exchange, { session }) => {
      if (session === undefined) return fail('signedOut');
      const body = await parseBody(exchange, passwordBody);
      if (isFailure(body)) return body;
      return accounts.changePassword(session, body.current, body.next);
    },
    ({ browser }) =>
      withHeaders(unstored(jsonReply(200, {})), [setBrowserCookie(browser, consoleUrl)]),
  );
  return { ...routeOf('POST password', handler), bodyBytesMax: BODY_BYTES_MAX };
}

function endRoutes(dependencies: AdmittingServices): readonly Route[] {
  const { accounts, consoleUrl } = dependencies;
  const end =
    (handler: Handler): Handler =>
    async (exchange) => {
      const reply = await handler(exchange);
      const cookie = setSessionCookie(undefined, consoleUrl);
      return reply.status === 200 ? withHeaders(reply, [cookie]) : reply;
    };
  const ending = (work: (session: Session) => Promise<void>) => end(ofSession(dependencies, work));
  return [
    routeOf(
      'DELETE session',
      ending((session) => accounts.signOut(session)),
    ),
    routeOf(
      'DELETE sessions',
      ending((session) => accounts.signOutEverywhere(session)),
    ),
  ];
}

/** Builds a handler for people with a session; it refuses the admin token. It answers `{}`. */
function ofSession(
  { admit }: AdmittingServices,
  work: (session: Session) => Promise<void>,
): Handler {
  return admit(async (_, { session }): Promise<Outcome<NoContent>> => {
    if (session === undefined) return fail('signedOut');
    await work(session);
    return {};
  });
}

/**
 * Returns a function that builds POST routes which open a session, for clients without one. A request of a
 * browser must come from a page of this service, because another site must not sign people in to an account
 * that they did not choose. Clients that are no browsers send neither `Origin` nor cookies.
 */
function createOpen(dependencies: AdmittingServices) {
  const { consoleUrl } = dependencies;
  return <Shape extends z.ZodType>(
    path: string,
    status: number,
    shape: Shape,
    work: (body: z.output<Shape>, exchange: Exchange) => Promise<Outcome<SignedIn | AwaitsPasskey>>,
  ): Route => ({
    bodyBytesMax: BODY_BYTES_MAX,
    ...routeOf(`POST ${path}`, async (exchange): Promise<Reply> => {
      if (isForeign(exchange, consoleUrl)) {
        return unstored(failureReply(fail('originNotAllowed')));
      }
      const body = await parseBody(exchange, shape);
      const signedIn = isFailure(body) ? body : await work(body, exchange);
      if (isFailure(signedIn)) return unstored(failureReply(signedIn));
      if ('awaits' in signedIn) return askSecond(dependencies, signedIn);
      const reply = unstored(jsonReply(status, await describeSession(dependencies, signedIn)));
      return withHeaders(reply, sessionCookies(signedIn, consoleUrl));
    }),
  });
}

/** Returns whether a request comes from a browser, but not from a page of this service. */
export function isForeign(exchange: Exchange, consoleUrl: string | undefined): boolean {
  const isBrowser =
    exchange.headers.has('origin') ||
    sessionCookie(exchange) !== undefined ||
    challengeCookie(exchange) !== undefined;
  return isBrowser && !isOwnOrigin(exchange, consoleUrl);
}

/** Builds the route that returns a challenge for signing in with a passkey alone. */
function askForPasskey({ passkeys, consoleUrl }: AdmittingServices): Route {
  return routeOf('POST session/passkey/options', async (exchange) => {
    if (isForeign(exchange, consoleUrl)) {
      return unstored(failureReply(fail('originNotAllowed')));
    }
    const body = await parseBody(exchange, noBody);
    const question = isFailure(body) ? body : await passkeys.askAlone();
    if (isFailure(question)) return unstored(failureReply(question));
    return questionReply(question, { options: question.options }, consoleUrl);
  });
}

/** Returns a challenge for the passkey that must follow a correct password. */
async function askSecond(
  { passkeys, consoleUrl }: AdmittingServices,
  signedIn: AwaitsPasskey,
): Promise<Reply> {
  const question = await passkeys.askSecond(signedIn);
  if (isFailure(question)) return unstored(failureReply(question));
  const answer: SessionState = { state: 'secondFactor', options: question.options };
  return questionReply(question, answer, consoleUrl);
}

/** Returns the reply with the options of a passkey challenge, and the cookie that belongs to it. */
export function questionReply(
  { cookie }: PasskeyQuestion,
  answer: SessionState | { readonly options: PasskeyOptions },
  consoleUrl: string | undefined,
): Reply {
  const reply = unstored(jsonReply(200, answer));
  return withHeaders(reply, [setChallengeCookie(cookie, consoleUrl)]);
}

/** Returns the headers that set the cookies of the new session and of the known browser. */
export function sessionCookies(
  { token, browser }: SignedIn,
  consoleUrl: string | undefined,
): readonly HeaderPair[] {
  return [setSessionCookie(token, consoleUrl), setBrowserCookie(browser, consoleUrl)];
}

/**
 * Builds the handler that tells a page who is signed in. Without a valid session it answers 200 with the
 * state; only a wrong admin token gets 401. The admin token has all organizations, and no account.
 */
function readSession(dependencies: AdmittingServices): Handler {
  const { accounts, admit, ways } = dependencies;
  const signIn = ways === undefined ? {} : { signIn: ways };
  const known = admit(async (_, { session }) => describeSession(dependencies, session));
  return async (exchange) => {
    const reply = await known(exchange);
    if (reply.status !== 401 || exchange.headers.has('authorization')) return reply;
    const state = (await accounts.awaitSetUp()) ? 'setup' : 'signedOut';
    const answer: SessionState = { state, ...signIn };
    return unstored(jsonReply(200, answer));
  };
}

async function describeSession(
  { accounts, areOrganizationsOpen, ways }: AdmittingServices,
  session: Pick<Session, 'account' | 'isStrong' | 'hasPassword'> | undefined,
): Promise<SessionState> {
  const found = await accounts.listMemberships(session?.account.id);
  const isWeak = session !== undefined && !session.isStrong;
  const memberships = found.map((each) =>
    isWeak && each.organization.requireSecondFactor
      ? { ...each, needsSecondFactor: true as const }
      : each,
  );
  const rights = areOrganizationsOpen ? { mayCreateOrganizations: true as const } : {};
  const signIn = ways === undefined ? {} : { signIn: ways };
  const lacks = session?.hasPassword === false ? { hasPassword: false as const } : {};
  const account = session?.account;
  const isNobody = account !== undefined && memberships.length === 0;
  const awaits = isNobody && (await accounts.awaitSetUp()) ? { awaitsSetUp: true as const } : {};
  return { state: 'signedIn', account, memberships, ...rights, ...signIn, ...lacks, ...awaits };
}

/** Returns the reply with `headers` after its own. */
export function withHeaders(reply: Reply, headers: readonly HeaderPair[]): Reply {
  return { ...reply, headers: [...(reply.headers ?? []), ...headers] };
}

/** Returns the IP address of a request's client. */
export function addressIn({ remoteAddress, headers }: Exchange, trustProxy: number): string {
  return clientAddress(remoteAddress, headers.get('x-forwarded-for') ?? '', trustProxy);
}

/** Returns what is known about the client of a request. */
export function clientIn(exchange: Exchange, trustProxy: number): Client {
  return {
    address: addressIn(exchange, trustProxy),
    browser: browserCookie(exchange),
    agent: exchange.headers.get('user-agent'),
  };
}
