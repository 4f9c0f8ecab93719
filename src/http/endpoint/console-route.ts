// Declaration of the console API's routes: the right that a route needs, and the input that it takes. All
// routes refuse in the same order: the visitor (401, or 403 for a page of another origin), the input (400),
// an unknown organization, app, key or the like (404), the role (403).

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
  NO_STORE,
  type Reply,
} from '../transport/reply.ts';
import type { Route } from '../transport/router.ts';
import { appQuery, nameField } from './field.ts';
import type { ChangeServices, Endpoint, SessionRoute } from './key-operation.ts';
import { parseBody, parseQuery } from './parse-shape.ts';

/** What belongs to an organization, or is one: what a visitor may do to it follows from a role there. */
type About = AccessTarget['type'] | 'app';

/**
 * Right that a route needs: at least a role in the organization of what it is about, the admin token
 * (`operator`), a session (`person`), or either of them (`visitor`).
 */
type Right = `${Role} of ${About}` | 'operator' | 'person' | 'visitor';

/** Visitor of a route; `actor` is the author of what it changes, `id` is that of the path, if it has one. */
type VisitorContext = { readonly visitor: Visitor; readonly actor: Actor; readonly id: string };
/** Visitor with a role in the organization of what a route is about. */
type RoleContext = VisitorContext & Principal & AccessRight;

/** What the work of a route is told of its visitor. */
type ContextOf<Needed extends Right> = Needed extends 'person'
  ? VisitorContext & { readonly session: Session }
  : Needed extends 'operator' | 'visitor'
    ? VisitorContext
    : RoleContext & (Needed extends `${Role} of app` ? AppAccessRight : unknown);

type Declared<Shape extends z.ZodType> = Pick<Route, 'bodyBytesMax'> & {
  /** Shape of a write's body, or of a read's query; without it neither is read. */
  readonly input?: Shape;
  /** Status of the answer; 200 by default. */
  readonly status?: number;
};

type Work<Needed extends Right, Shape extends z.ZodType, Answer> = (
  context: ContextOf<Needed>,
  input: z.output<Shape>,
  exchange: Exchange,
) => Promise<Outcome<Answer>>;

/** Refusals of what does not exist, or what the visitor must not know of. */
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
   * Declares a route, and returns the function that builds it from its work. An app is named by its ref or id
   * in `app` of the input or else of the query, an organization by its id in `org`, and anything else by
   * `:id` in the path.
   */
  on<E extends Endpoint, Needed extends Right, Shape extends z.ZodType = z.ZodUnknown>(
    endpoint: E,
    right: Needed,
    { status = 200, ...declared }: Declared<Shape>,
  ): (work: Work<Needed, Shape, ConsoleAnswers[E]>) => Route {
    const reply = (answer: unknown) => unstored(jsonReply(status, answer));
    return (work) => this.declare(endpoint, right, declared, work, reply);
  }

  /** Builds a route that takes no input beside what it is about. */
  plain<E extends Endpoint, Needed extends Right>(
    endpoint: E,
    right: Needed,
    work: Work<Needed, z.ZodUnknown, ConsoleAnswers[E]>,
  ): Route {
    return this.on<E, Needed>(endpoint, right, {})(work);
  }

  /** Builds a route by which people change releases as keys do. Its operation names its answer. */
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

  /** Returns what the work is told of a visitor who has the right. */
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
    // A write reads the role again where it happens.
    const actor = actorOf(visitor, { organizationId, role, unknown: UNKNOWN[about] });
    const context: RoleContext = { ...found, scope: organizationId, visitor, actor, id };
    return context;
  }
}

/** Returns the name of what a call is about. */
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

// Authentication of the console API: the operator by the admin token, people by a session. What a visitor may
// do is checked for each request by `ConsoleRoutes`.

/**
 * Wraps work so that it only runs for a visitor. The handler replies with the work's refusal, or with the
 * reply that `reply` makes of its answer: by default 200 and the answer as JSON.
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

/** Returns the reply with headers that forbid caches to keep it, because it is for one person. */
export function unstored(reply: Reply): Reply {
  return { ...reply, headers: [...(reply.headers ?? []), ...NO_STORE] };
}

/**
 * Identifies the visitor. A token takes precedence over a session: a wrong token is refused even with a valid
 * session. With a session, a write must come from a page of this service: 403.
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

// Check that a request comes from a page of this service. SameSite keeps requests of other sites from
// carrying the session; the check also holds where one site has several hosts, and in browsers without
// SameSite.

/**
 * Returns whether `Origin` is the origin of `consoleUrl`, or of the host in `Host`. A page can set neither
 * header. Behind a proxy that ends TLS the scheme is not known here, so that http and https are both accepted
 * for the host.
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

/** Returns the base URL of links to the console: the configured one, or by which the client came. */
export function consoleBase(
  { headers }: Pick<Exchange, 'headers'>,
  consoleUrl: string | undefined,
): string {
  return consoleUrl ?? headers.get('origin') ?? `http://${headers.get('host') ?? 'localhost'}`;
}

/** Returns the path of the console's base URL, which a proxy takes off; '' without one. */
export function mountOf(consoleUrl: string | undefined): string {
  return consoleUrl === undefined ? '' : new URL(consoleUrl).pathname.replace(/\/$/, '');
}

// Cookies of the console: the session, the one by which a browser that signed in before is known, and the
// challenge that its authenticator answers. Scripts cannot read them, and pages of other sites cannot make a
// browser send them.

const SESSION = 'sluice_session';
const BROWSER = 'sluice_browser';
const CHALLENGE = 'sluice_challenge';

/** Returns the token in the session's cookie, valid or not; undefined without the cookie. */
export function sessionCookie(exchange: Pick<Exchange, 'headers'>): string | undefined {
  return readCookie(exchange, SESSION);
}

/** Returns the cookie by which a browser may be known, genuine or not; undefined without it. */
export function browserCookie(exchange: Pick<Exchange, 'headers'>): string | undefined {
  return readCookie(exchange, BROWSER);
}

/** Returns the header that sets the session's cookie to a token; undefined removes it. */
export function setSessionCookie(
  token: string | undefined,
  consoleUrl: string | undefined,
): HeaderPair {
  const lifetimeMs = token === undefined ? 0 : LIMIT.sessionLifetimeMs;
  return setCookie(SESSION, token ?? '', lifetimeMs, consoleUrl);
}

/** Returns the header that sets the cookie by which the browser is known. Signing out leaves it. */
export function setBrowserCookie(cookie: string, consoleUrl: string | undefined): HeaderPair {
  return setCookie(BROWSER, cookie, LIMIT.knownBrowserLifetimeMs, consoleUrl);
}

/** Returns the cookie with the challenge of a passkey, genuine or not; undefined without it. */
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
 * Cookies of a sign-in with a provider: of one that has begun, and of one that waits for the proof of an
 * account. The first comes back with the provider's answer, and so with a request that another site causes.
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
  // Browsers reach the console by TLS, as far as the settings tell.
  if (consoleUrl?.startsWith('https:')) attributes.push('Secure');
  return ['Set-Cookie', [`${name}=${value}`, ...attributes].join('; ')];
}
