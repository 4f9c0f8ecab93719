// Declaration of the console API's routes: the input that a route takes, the organization or app that it is
// about, and the role that it needs. All routes refuse in the same order: the visitor (401, or 403 for a page
// of another origin), the input (400), an unknown organization, app, key or invitation (404), the role (403).

import type { z } from 'zod';
import { type Access, actorOf, type Visitor } from '../../access/access.ts';
import type { Principal } from '../../access/api-keys.ts';
import type { ConsoleAnswer, ConsoleEvents } from '../../contract/console.ts';
import { type FailureKind, isFailure, type Outcome } from '../../contract/failure.ts';
import type { Role } from '../../contract/resource.ts';
import type { AccessRight, AppAccessRight } from '../../store/account-ledger.ts';
import type { NeededRole } from '../../store/ledger-terms.ts';
import type { EventSource } from '../event-stream.ts';
import type { Exchange, Handler } from '../exchange.ts';
import { jsonReply } from '../reply.ts';
import type { Route } from '../router.ts';
import { noteApp, parseBody, parseShape } from '../shape/parse-shape.ts';
import { type Authorize, unstored } from './authorize.ts';

/** Context of a route's work: the organization that it is about, and the visitor who calls. */
type RouteContext = Principal & { readonly organizationId: string; readonly visitor: Visitor };
/** Context of the work of a route about an app. */
type AppContext = RouteContext & Pick<AppAccessRight, 'app'>;

type Method = Route['method'];

type Declared<M extends Method, Path extends string, Shape extends z.ZodType> = {
  readonly method: M;
  /** Path below `/console/api/`. */
  readonly path: Path;
  /** Lowest role that may use the route. */
  readonly role: Role;
  /** Shape of a write's body, or of a read's query. */
  readonly shape: Shape;
  /** Status of the answer; 200 by default. */
  readonly status?: number;
};

/** Answer that the contract names for a method and path, or a refusal. */
type Answering<M extends Method, Path extends string> = Promise<
  Outcome<ConsoleAnswer<`${M} ${Path}`>, FailureKind>
>;

type NamesOrganization = z.ZodType<{ readonly org: string }>;
type NamesApp = z.ZodType<{ readonly app: string }>;

export class ConsoleRoutes {
  private readonly admit: Authorize;
  private readonly access: Access;

  constructor(admit: Authorize, access: Access) {
    this.admit = admit;
    this.access = access;
  }

  /** Builds a route about an organization, which the input names by its id in `org`. */
  onOrganization<M extends Method, Path extends string, Shape extends NamesOrganization>(
    declared: Declared<M, Path, Shape>,
    work: (context: RouteContext, input: z.output<Shape>, exchange: Exchange) => Answering<M, Path>,
  ): Route {
    return this.declare(declared, async (input, visitor, exchange) => {
      const target = { type: 'organization', id: input.org } as const;
      const right = await this.access.to(visitor, target, declared.role);
      if (isFailure(right)) return right;
      const needs = needed(right, declared.role, 'unknownOrganization');
      return work(contextOf(visitor, needs), input, exchange);
    });
  }

  /** Builds a route about an app, which the input names by its ref or id in `app`. */
  onApp<M extends Method, Path extends string, Shape extends NamesApp>(
    declared: Declared<M, Path, Shape>,
    work: (context: AppContext, input: z.output<Shape>) => Answering<M, Path>,
  ): Route {
    return this.declare(declared, async (input, visitor) => {
      const context = await this.enterApp(visitor, input.app, declared.role);
      return isFailure(context) ? context : work(context, input);
    });
  }

  /** Builds a GET route about an app, named by `app`, that answers with a stream of events. */
  onAppEvents<Path extends keyof ConsoleEvents, Shape extends NamesApp>(
    { path, role, shape }: Pick<Declared<'GET', Path, Shape>, 'path' | 'role' | 'shape'>,
    work: (context: AppContext) => Promise<Outcome<EventSource<ConsoleEvents[Path]>, FailureKind>>,
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
    return routeOf('GET', path, handler);
  }

  /** Builds a POST route about a key or an invitation, which the path names by `:id`. */
  onKeyOrInvitation<Path extends string>(
    type: 'key' | 'invitation',
    path: Path,
    role: Role,
    work: (context: RouteContext, id: string) => Answering<'POST', Path>,
  ): Route {
    const handler = this.admit(async ({ params }, visitor) => {
      const id = params.get('id') ?? '';
      const right = await this.access.to(visitor, { type, id }, role);
      if (isFailure(right)) return right;
      const unknown = type === 'key' ? 'unknownKey' : 'unknownInvitation';
      return work(contextOf(visitor, needed(right, role, unknown)), id);
    });
    return routeOf('POST', path, handler);
  }

  /** Builds a route that any visitor may use, because it is about nothing that belongs to an organization. */
  onVisitor<M extends Method, Path extends string, Shape extends z.ZodType>(
    declared: Omit<Declared<M, Path, Shape>, 'role'>,
    work: (visitor: Visitor, input: z.output<Shape>, exchange: Exchange) => Answering<M, Path>,
  ): Route {
    return this.declare(declared, (input, visitor, exchange) => work(visitor, input, exchange));
  }

  private declare<M extends Method, Path extends string, Shape extends z.ZodType>(
    { method, path, shape, status = 200 }: Omit<Declared<M, Path, Shape>, 'role'>,
    work: (input: z.output<Shape>, visitor: Visitor, exchange: Exchange) => Answering<M, Path>,
  ): Route {
    const handler = this.admit(
      async (exchange, visitor) => {
        const input =
          method === 'GET' ? parseQuery(exchange, shape) : await parseBody(exchange, shape);
        return isFailure(input) ? input : work(input, visitor, exchange);
      },
      (answer) => unstored(jsonReply(status, answer)),
    );
    return routeOf(method, path, handler);
  }

  private async enterApp(
    visitor: Visitor,
    app: string,
    role: Role,
  ): Promise<Outcome<AppContext, 'unknownApp' | 'forbidden'>> {
    const right = await this.access.toApp(visitor, app, role);
    if (isFailure(right)) return right;
    return { ...contextOf(visitor, needed(right, role, 'unknownApp')), app: right.app };
  }
}

/** Parses the request's query in a shape; of a repeated name the last value counts. */
export function parseQuery<Shape extends z.ZodType>(
  exchange: Pick<Exchange, 'queryText' | 'notes'>,
  shape: Shape,
): Outcome<z.output<Shape>, 'invalid'> {
  const query = Object.fromEntries(new URLSearchParams(exchange.queryText));
  noteApp(exchange, query);
  return parseShape(shape, query);
}

function routeOf(method: Method, path: string, handler: Handler): Route {
  return { method, path: `/console/api/${path}`, handler };
}

function contextOf(visitor: Visitor, needs: NeededRole): RouteContext {
  const { organizationId } = needs;
  return { organizationId, reach: organizationId, actor: actorOf(visitor, needs), visitor };
}

/** Returns the role that a write of the route needs, which is read again where the write happens. */
function needed(
  { organizationId }: AccessRight,
  role: Role,
  unknown: NeededRole['unknown'],
): NeededRole {
  return { organizationId, role, unknown };
}
