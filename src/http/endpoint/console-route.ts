// Declaration of the console API's routes: the input that a route takes, the organization or app that it is
// about, and the role that it needs. All routes refuse in the same order: the visitor (401, or 403 for a page
// of another origin), the input (400), an unknown organization, app, key or invitation (404), the role (403).

import { z } from 'zod';
import { type Access, actorOf, operatorBy, type Visitor } from '../../access/access.ts';
import type { Accounts } from '../../access/accounts.ts';
import type { Principal } from '../../access/api-keys.ts';
import type { ConsoleAnswers, ConsoleEvents } from '../../contract/console.ts';
import { fail, isFailure, type Outcome } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { Role } from '../../contract/resource.ts';
import type { AccessRight, AppAccessRight } from '../../store/account-ledger.ts';
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
import { nameField } from './field.ts';
import type { ChangeServices, Endpoint, SessionRoute } from './key-operation.ts';
import { parseBody, parseQuery } from './parse-shape.ts';

/** Context of a route's work: the organization that it is about, and the visitor who calls. */
type RouteContext = Principal & { readonly organizationId: string; readonly visitor: Visitor };
/** Context of the work of a route about an app. */
type AppContext = RouteContext & Pick<AppAccessRight, 'app'>;

type Declared<E extends string, Shape extends z.ZodType> = {
  readonly endpoint: E;
  /** Lowest role that may use the route. */
  readonly role: Role;
  /** Shape of a write's body, or of a read's query. */
  readonly shape: Shape;
  /** Status of the answer; 200 by default. */
  readonly status?: number;
};

/** Answer that the contract names for an endpoint, or a refusal. */
type Answering<E extends Endpoint> = Promise<Outcome<ConsoleAnswers[E]>>;

/** Declaration of a route by what is not its role; a bare one takes no input. */
type Bare<Route> = Omit<Route, 'role'> & { readonly isBare?: boolean };
type OfDestination<E extends string, Shape extends z.ZodType> = Omit<
  Declared<E, Shape>,
  'role' | 'shape'
> & { readonly shape?: Shape };

const ORG_QUERY = z.object({ org: nameField });

type NamesOrganization = z.ZodType<{ readonly org?: string | undefined }>;
type NamesApp = z.ZodType<{ readonly app: string }>;

export class ConsoleRoutes {
  private readonly admit: Authorize;
  private readonly access: Access;

  constructor(admit: Authorize, access: Access) {
    this.admit = admit;
    this.access = access;
  }

  /** Builds a route about an organization, which the input names by its id in `org`, or else the query. */
  onOrganization<E extends Endpoint, Shape extends NamesOrganization>(
    declared: Declared<E, Shape>,
    work: (context: RouteContext, input: z.output<Shape>, exchange: Exchange) => Answering<E>,
  ): Route {
    return this.declare(declared, async (input, visitor, exchange) => {
      const named = input.org === undefined ? parseQuery(exchange, ORG_QUERY) : input;
      if (isFailure(named)) return named;
      const target = { type: 'organization', id: named.org ?? '' } as const;
      const right = await this.access.to(visitor, target, declared.role);
      if (isFailure(right)) return right;
      const needs = needed(right, declared.role, 'unknownOrganization');
      return work(contextOf(visitor, needs), input, exchange);
    });
  }

  /** Builds a route about an app, which the input names by its ref or id in `app`. */
  onApp<E extends Endpoint, Shape extends NamesApp>(
    declared: Declared<E, Shape>,
    work: (context: AppContext, input: z.output<Shape>) => Answering<E>,
  ): Route {
    return this.declare(declared, async (input, visitor) => {
      const context = await this.enterApp(visitor, input.app, declared.role);
      return isFailure(context) ? context : work(context, input);
    });
  }

  /** Builds a route by which people change releases as keys do. Its operation names its answer. */
  onChange({ endpoint, input: shape, status, run }: SessionRoute, services: ChangeServices): Route {
    return this.declare({ endpoint, shape, status }, async (body, visitor) => {
      const context = await this.enterApp(visitor, body.app, 'publisher');
      return isFailure(context) ? context : run(services, context, body as never);
    });
  }

  /** Builds a GET route about an app, named by `app`, that answers with a stream of events. */
  onAppEvents<Path extends keyof ConsoleEvents, Shape extends NamesApp>(
    { path, role, shape }: Pick<Declared<never, Shape>, 'role' | 'shape'> & { readonly path: Path },
    work: (context: AppContext) => Promise<Outcome<EventSource<ConsoleEvents[Path]>>>,
  ): Route {
    const handler = this.admit(
      async (exchange, visitor) => {
        const input = parseQuery(exchange, shape);
        if (isFailure(input)) return input;
        const context = await this.enterApp(visitor, input.app, role);
        return isFailure(context) ? context : work(context);
      },
      (events) => ({ status: 200, events }),
    );
    return routeOf(`GET ${path}`, handler);
  }

  /** Builds a POST route about a key or an invitation, which the path names by `:id`. */
  onKeyOrInvitation<E extends Endpoint>(
    type: 'key' | 'invitation',
    endpoint: E,
    role: Role,
    work: (context: RouteContext, id: string) => Answering<E>,
  ): Route {
    const handler = this.admit(async ({ params }, visitor) => {
      const id = params.get('id') ?? '';
      const right = await this.access.to(visitor, { type, id }, role);
      if (isFailure(right)) return right;
      const unknown = type === 'key' ? 'unknownKey' : 'unknownInvitation';
      return work(contextOf(visitor, needed(right, role, unknown)), id);
    });
    return routeOf(endpoint, handler);
  }

  /** Builds a route for owners about a destination, which the path names by `:id`. */
  onDestination<E extends Endpoint, Shape extends z.ZodType = z.ZodUndefined>(
    { endpoint, shape, status }: OfDestination<E, Shape>,
    work: (
      context: RouteContext,
      id: string,
      input: z.output<Shape>,
      exchange: Exchange,
    ) => Answering<E>,
  ): Route {
    const isBare = shape === undefined;
    const declared = { endpoint, shape: shape ?? z.unknown(), status: status ?? 200, isBare };
    return this.declare(declared, async (input, visitor, exchange) => {
      const id = exchange.params.get('id') ?? '';
      const right = await this.access.to(visitor, { type: 'destination', id }, 'owner');
      if (isFailure(right)) return right;
      const needs = needed(right, 'owner', 'unknownDestination');
      return work(contextOf(visitor, needs), id, input as z.output<Shape>, exchange);
    });
  }

  /** Builds a route about an approval, which the path names by `:id`. */
  onApproval<E extends Endpoint, Shape extends z.ZodType>(
    declared: Declared<E, Shape>,
    work: (context: RouteContext, id: string, input: z.output<Shape>) => Answering<E>,
  ): Route {
    return this.declare(declared, async (input, visitor, { params }) => {
      const id = params.get('id') ?? '';
      const right = await this.access.to(visitor, { type: 'approval', id }, declared.role);
      if (isFailure(right)) return right;
      return work(contextOf(visitor, needed(right, declared.role, 'unknownApproval')), id, input);
    });
  }

  /** Builds a route that only the admin token may use. */
  onOperator<E extends Endpoint, Shape extends z.ZodType>(
    declared: Omit<Declared<E, Shape>, 'role'>,
    work: (input: z.output<Shape>, actor: Actor, exchange: Exchange) => Answering<E>,
  ): Route {
    return this.declare(declared, async (input, visitor, exchange) =>
      visitor.session === undefined
        ? work(input, actorOf(visitor, undefined), exchange)
        : fail('forbidden'),
    );
  }

  /** Builds a route that any visitor may use, because it is about nothing that belongs to an organization. */
  onVisitor<E extends Endpoint, Shape extends z.ZodType>(
    declared: Omit<Declared<E, Shape>, 'role'>,
    work: (visitor: Visitor, input: z.output<Shape>, exchange: Exchange) => Answering<E>,
  ): Route {
    return this.declare(declared, (input, visitor, exchange) => work(visitor, input, exchange));
  }

  private declare<Shape extends z.ZodType>(
    { endpoint, shape, status = 200, isBare = false }: Bare<Declared<string, Shape>>,
    work: (
      input: z.output<Shape>,
      visitor: Visitor,
      exchange: Exchange,
    ) => Promise<Outcome<unknown>>,
  ): Route {
    const handler = this.admit(
      async (exchange, visitor) => {
        const isRead = endpoint.startsWith('GET ');
        if (isBare) return work(undefined as z.output<Shape>, visitor, exchange);
        const input = isRead ? parseQuery(exchange, shape) : await parseBody(exchange, shape);
        return isFailure(input) ? input : work(input, visitor, exchange);
      },
      (answer) => unstored(jsonReply(status, answer)),
    );
    return routeOf(endpoint, handler);
  }

  private async enterApp(visitor: Visitor, app: string, role: Role): Promise<Outcome<AppContext>> {
    const right = await this.access.toApp(visitor, app, role);
    if (isFailure(right)) return right;
    return { ...contextOf(visitor, needed(right, role, 'unknownApp')), app: right.app };
  }
}

/** Builds the route of an endpoint, such as `GET apps`. */
export function routeOf(endpoint: string, handler: Handler): Route {
  const [method, path] = endpoint.split(' ') as [Route['method'], string];
  return { method, path: `/console/api/${path}`, handler };
}

function contextOf(visitor: Visitor, needs: NeededRole): RouteContext {
  const { organizationId } = needs;
  return { organizationId, scope: organizationId, actor: actorOf(visitor, needs), visitor };
}

/** Returns the role that a write of the route needs, which is read again where the write happens. */
function needed(
  { organizationId }: AccessRight,
  role: Role,
  unknown: NeededRole['unknown'],
): NeededRole {
  return { organizationId, role, unknown };
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

/** Returns the origin by which the client reached the service, for links when no base URL is configured. */
export function requestOrigin({ headers }: Pick<Exchange, 'headers'>): string {
  return headers.get('origin') ?? `http://${headers.get('host') ?? 'localhost'}`;
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
