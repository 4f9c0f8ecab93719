// Declaration of the console API's routes: the right that a route needs, and its input. All routes check in
// the same order: the visitor (401, or 403 for a page of another origin), the input (400), the organization,
// app, key or the like (404 if unknown), and the role (403).

import { z } from 'zod';
import { type Access, actorOf, operatorBy, type Visitor } from '../../access/access.ts';
import type { Accounts, Session } from '../../access/accounts.ts';
import type { Principal } from '../../access/api-keys.ts';
import type { ConsoleAnswers, ConsoleEvents } from '../../contract/console.ts';
import { fail, isFailure, type Outcome } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { Role } from '../../contract/resource.ts';
import type { AccessRight, AccessTarget, AppAccessRight } from '../../store/account-ledger.ts';
import type { Actor, NeededRole } from '../../store/ledger-terms.ts';
import type { EventSource } from '../transport/event-stream.ts';
import { bearerToken, type Exchange, type Handler } from '../transport/exchange.ts';
import {
  failureReply,
  type HeaderPair,
  jsonReply,
  type Reply,
  unstored,
} from '../transport/reply.ts';
import type { Route } from '../transport/router.ts';
import { appQuery, nameField } from './field.ts';
import type { ChangeServices, Endpoint, SessionRoute } from './key-operation.ts';
import { parseBody, parseQuery } from './parse-shape.ts';

/** Types of resources that a route may concern; the visitor's role in their organization decides. */
type About = AccessTarget['type'] | 'app';

/**
 * Right that a route needs: a role, or a higher one, in the organization of the resource that the route
 * concerns; the admin token (`operator`); a session (`person`); or one of these two (`visitor`).
 */
type Right = `${Role} of ${About}` | 'operator' | 'person' | 'visitor';

/** Visitor of a route; `actor` is the author of its changes, `id` the parameter `:id` of the path, or ''. */
type VisitorContext = { readonly visitor: Visitor; readonly actor: Actor; readonly id: string };
/** Visitor with a role in the organization of the route's resource. */
type RoleContext = VisitorContext & Principal & AccessRight;

/** Context that the work of a route gets, by the right that the route needs. */
type ContextOf<Needed extends Right> = Needed extends 'person'
  ? VisitorContext & { readonly session: Session }
  : Needed extends 'operator' | 'visitor'
    ? VisitorContext
    : RoleContext & (Needed extends `${Role} of app` ? AppAccessRight : unknown);

type Declared<Shape extends z.ZodType> = Pick<Route, 'bodyBytesMax'> & {
  /** Shape of a write's body, or of a read's query; if absent, neither is parsed. */
  readonly input?: Shape;
  /** Status of the answer; 200 by default. */
  readonly status?: number;
};

type Work<Needed extends Right, Shape extends z.ZodType, Answer> = (
  context: ContextOf<Needed>,
  input: z.output<Shape>,
  exchange: Exchange,
) => Promise<Outcome<Answer>>;

/** Refusals for resources that do not exist, or whose existence the visitor must not learn. */
const UNKNOWN: Readonly<Record<About, NeededRole['unknown']>> = {
  organization: 'unknownOrganization',
  app: 'unknownApp',
  key: 'unknownKey',
  invitation: 'unknownInvitation',
  destination: 'unknownDestination',
  approval: 'unknownApproval',
};

const APP_IN_QUERY = appQuery.transform(({ app }) => app);
const ORG_IN_QUERY = z.object({ org: nameField }).transform(({ org }) => org);

export class ConsoleRoutes {
  constructor(
    private readonly admit: Authorize,
    private readonly access: Access,
  ) {}

  /**
   * Declares a route, and returns the function that builds it from its work. The resource is an app by its
   * ref or id in `app` of the input, or else of the query; an organization by its id in `org`, likewise; any
   * other by `:id` in the path.
   */
  on<E extends Endpoint, Needed extends Right, Shape extends z.ZodType = z.ZodUnknown>(
    endpoint: E,
    right: Needed,
    { status = 200, ...declared }: Declared<Shape>,
  ): (work: Work<Needed, Shape, ConsoleAnswers[E]>) => Route {
    const reply = (answer: unknown) => unstored(jsonReply(status, answer));
    return (work) => this.declare(endpoint, right, declared, work, reply);
  }

  /** Builds a route without input, except the name of its resource. */
  plain<E extends Endpoint, Needed extends Right>(
    endpoint: E,
    right: Needed,
    work: Work<Needed, z.ZodUnknown, ConsoleAnswers[E]>,
  ): Route {
    return this.on<E, Needed>(endpoint, right, {})(work);
  }

  /** Builds the route by which people call an operation that keys can call too; the operation declares it. */
  onChange({ endpoint, input, status, run }: SessionRoute, services: ChangeServices): Route {
    return this.declare(
      endpoint,
      'publisher of app',
      { input },
      (context, body) => run(services, context, body as never),
      (answer) => unstored(jsonReply(status, answer)),
    );
  }

  /** Builds a GET route that answers with a stream of events. */
  onEvents<Path extends keyof ConsoleEvents, Needed extends Right>(
    path: Path,
    right: Needed,
    work: Work<Needed, z.ZodUnknown, EventSource<ConsoleEvents[Path]>>,
  ): Route {
    return this.declare(`GET ${path}`, right, {}, work, (events) => ({ status: 200, events }));
  }

  private declare<Needed extends Right, Shape extends z.ZodType, Answer>(
    endpoint: string,
    right: Needed,
    { input: shape, ...limits }: Declared<Shape>,
    work: Work<Needed, Shape, Answer>,
    reply: (answer: Answer) => Reply,
  ): Route {
    const handler = this.admit(async (exchange, visitor) => {
      if (right === 'person' && visitor.session === undefined) return fail('signedOut');
      const parse = endpoint.startsWith('GET ') ? parseQuery : parseBody;
      const input = shape && (await parse(exchange, shape));
      if (isFailure(input)) return input;
      const context = await this.enter(right, input ?? {}, visitor, exchange);
      if (isFailure(context)) return context;
      return work(context as ContextOf<Needed>, input as z.output<Shape>, exchange);
    }, reply);
    return { ...routeOf(endpoint, handler), ...limits };
  }

  /** Returns the context of a visitor who has the right, or the refusal. */
  private async enter(
    right: Right,
    input: object,
    visitor: Visitor,
    exchange: Exchange,
  ): Promise<Outcome<VisitorContext>> {
    const { session } = visitor;
    const id = exchange.params.get('id') ?? '';
    const [role, about] = right.split(' of ') as [Role, About | undefined];
    if (about === undefined) {
      if (right === 'operator' && session !== undefined) return fail('forbidden');
      return { visitor, actor: actorOf(visitor, undefined), id, ...(session && { session }) };
    }
    const named = nameIn(about, input, exchange);
    if (isFailure(named)) return named;
    const found = await (about === 'app'
      ? this.access.toApp(visitor, named, role)
      : this.access.to(visitor, { type: about, id: named }, role));
    if (isFailure(found)) return found;
    const { organizationId } = found;
    // The transaction of a write checks the role again.
    const actor = actorOf(visitor, { organizationId, role, unknown: UNKNOWN[about] });
    const context: RoleContext = { ...found, scope: organizationId, visitor, actor, id };
    return context;
  }
}

/** Returns the ref or id of the resource that a call names. */
function nameIn(
  about: About,
  input: { readonly app?: string; readonly org?: string },
  exchange: Exchange,
): Outcome<string> {
  if (about === 'app') return input.app ?? parseQuery(exchange, APP_IN_QUERY);
  if (about === 'organization') return input.org ?? parseQuery(exchange, ORG_IN_QUERY);
  return exchange.params.get('id') ?? '';
}

/** Builds the route of an endpoint, such as `GET apps`. */
export function routeOf(endpoint: string, handler: Handler): Route {
  const [method, path] = endpoint.split(' ') as [Route['method'], string];
  return { method, path: `/console/api/${path}`, handler };
}

// Authentication of the console API: the operator by the admin token, people by a session. `ConsoleRoutes`
// checks for each request what the visitor may do.

/**
 * Wraps work into a handler that runs it only for an authenticated visitor. The handler replies with a
 * refusal, or with what `reply` builds from the answer of `work`: by default 200 with JSON.
 */
export type Authorize = <Answer>(
  work: (exchange: Exchange, visitor: Visitor) => Promise<Outcome<Answer>>,
  reply?: (answer: Answer) => Reply,
) => Handler;

const READS = new Set(['GET', 'HEAD']);

/** Builds `Authorize`. `consoleUrl` is the base URL of the console, if one is configured. */
export function createAuthorize(
  accounts: Pick<Accounts, 'find' | 'isAdminToken'>,
  consoleUrl: string | undefined,
): Authorize {
  return (work, reply = (answer) => unstored(jsonReply(200, answer))) =>
    async (exchange) => {
      const visitor = await identify(accounts, consoleUrl, exchange);
      const { requestId } = exchange.notes;
      const outcome = isFailure(visitor)
        ? visitor
        : await work(exchange, { ...visitor, requestId });
      return isFailure(outcome) ? unstored(failureReply(outcome)) : reply(outcome);
    };
}

/**
 * Identifies the visitor. A token takes precedence over a session: a wrong token is refused even with a valid
 * session. With a session, a write from another page than this service's is refused with 403.
 */
async function identify(
  accounts: Pick<Accounts, 'find' | 'isAdminToken'>,
  consoleUrl: string | undefined,
  exchange: Exchange,
): Promise<Outcome<Visitor>> {
  if (exchange.headers.has('authorization')) {
    const token = bearerToken(exchange);
    const operator = token === undefined ? undefined : operatorBy(token, accounts);
    return operator ?? fail('adminUnauthorized');
  }
  const cookie = sessionCookie(exchange);
  if (cookie === undefined) return fail('signedOut');
  const isWrite = !READS.has(exchange.method);
  if (isWrite && !isOwnOrigin(exchange, consoleUrl)) return fail('originNotAllowed');
  const session = await accounts.find(cookie);
  return session === undefined ? fail('signedOut') : { session };
}

// Check that a request comes from a page of this service. SameSite prevents browsers from sending the session
// with requests of other sites; the check also covers sites with several hosts, and browsers without it.

/**
 * Returns whether `Origin` is the origin of `consoleUrl`, or that of the host in `Host`. Pages can set
 * neither header. Behind a proxy that terminates TLS the scheme is unknown, so the host may have either.
 */
export function isOwnOrigin(
  { headers }: Pick<Exchange, 'headers'>,
  consoleUrl: string | undefined,
): boolean {
  const origin = headers.get('origin');
  const host = headers.get('host');
  if (origin === undefined) return false;
  if (consoleUrl !== undefined && origin === new URL(consoleUrl).origin) return true;
  return (
    host !== undefined &&
    host !== '' &&
    ['http', 'https'].some((each) => origin === `${each}://${host}`)
  );
}

/** Returns the base URL of links to the console: the configured one, or the one that the client used. */
export function consoleBase(
  { headers }: Pick<Exchange, 'headers'>,
  consoleUrl: string | undefined,
): string {
  return consoleUrl ?? headers.get('origin') ?? `http://${headers.get('host') ?? 'localhost'}`;
}

/** Returns the path of the console's base URL, which a proxy strips from requests; '' if there is none. */
export function mountOf(consoleUrl: string | undefined): string {
  return consoleUrl === undefined ? '' : new URL(consoleUrl).pathname.replace(/\/$/, '');
}

// Cookies of the console: for the session, for a known browser (one that has signed in before), and for a
// passkey challenge. Scripts cannot read them, and pages of other sites cannot make a browser send them.

const SESSION = 'sluice_session';
const BROWSER = 'sluice_browser';
const CHALLENGE = 'sluice_challenge';

/** Returns the token in the session's cookie, unverified; undefined without the cookie. */
export function sessionCookie(exchange: Pick<Exchange, 'headers'>): string | undefined {
  return readCookie(exchange, SESSION);
}

/** Returns the cookie of a known browser, unverified; undefined without it. */
export function browserCookie(exchange: Pick<Exchange, 'headers'>): string | undefined {
  return readCookie(exchange, BROWSER);
}

/** Returns the header that sets the session's cookie to a token, or removes it if the token is undefined. */
export function setSessionCookie(
  token: string | undefined,
  consoleUrl: string | undefined,
): HeaderPair {
  const lifetimeMs = token === undefined ? 0 : LIMIT.sessionLifetimeMs;
  return setCookie(SESSION, token ?? '', lifetimeMs, consoleUrl);
}

/** Returns the header that sets the cookie of a known browser, which signing out does not remove. */
export function setBrowserCookie(cookie: string, consoleUrl: string | undefined): HeaderPair {
  return setCookie(BROWSER, cookie, LIMIT.knownBrowserLifetimeMs, consoleUrl);
}

/** Returns the cookie with the challenge of a passkey, unverified; undefined without it. */
export function challengeCookie(exchange: Pick<Exchange, 'headers'>): string | undefined {
  return readCookie(exchange, CHALLENGE);
}

/** Returns the header that sets the cookie with the challenge of a passkey. */
export function setChallengeCookie(cookie: string, consoleUrl: string | undefined): HeaderPair {
  return setCookie(CHALLENGE, cookie, LIMIT.challengeLifetimeMs, consoleUrl);
}

function readCookie({ headers }: Pick<Exchange, 'headers'>, name: string): string | undefined {
  for (const pair of (headers.get('cookie') ?? '').split(';')) {
    const at = pair.indexOf('=');
    if (at !== -1 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return undefined;
}

/**
 * Returns the cookies of a sign-in with a provider: `begun`, and `arrival`, which waits for the proof of an
 * account. `begun` is `Lax`, because another site, the provider's, causes the request with the answer.
 */
export function oidcCookies(consoleUrl: string | undefined) {
  const cookie = (name: string, site: string) => {
    const scope = { path: '/console/api/oidc', site };
    return {
      read: (exchange: Pick<Exchange, 'headers'>) => readCookie(exchange, name),
      set: (value: string) => setCookie(name, value, LIMIT.oidcSignInMs, consoleUrl, scope),
      end: () => setCookie(name, '', 0, consoleUrl, scope),
    };
  };
  return { begun: cookie('sluice_sign_in', 'Lax'), arrival: cookie('sluice_arrival', 'Strict') };
}

function setCookie(
  name: string,
  value: string,
  lifetimeMs: number,
  consoleUrl: string | undefined,
  { path, site } = { path: '/console', site: 'Strict' },
): HeaderPair {
  const maxAge = Math.floor(lifetimeMs / 1000);
  const place = `Path=${mountOf(consoleUrl)}${path}`;
  const attributes = [place, `Max-Age=${maxAge}`, 'HttpOnly', `SameSite=${site}`];
  // By the settings, browsers reach the console over TLS.
  if (consoleUrl?.startsWith('https:')) attributes.push('Secure');
  return ['Set-Cookie', [`${name}=${value}`, ...attributes].join('; ')];
}
