// How a route of the console API is declared: what it takes, whose it is, and the role it needs. The order of
// refusals is the same everywhere: who (401, 403 of a foreign page), what (400), where (404), may (403).

import type { z } from 'zod';
import { isFailure, type Outcome } from '../../contract/failure.ts';
import type { Role } from '../../contract/resource.ts';
import type { Access, Visitor } from '../../operations/access.ts';
import type { Principal } from '../../operations/authenticate-key.ts';
import type { AppStanding, Standing } from '../../ports/account-ledger.ts';
import type { Exchange } from '../exchange.ts';
import type { Route } from '../router.ts';
import { parseBody, parseShape } from '../shape/parse-shape.ts';
import type { Admit } from './admit.ts';

/** Where a route's work happens, and who does it. */
type Place = Principal & { readonly visitor: Visitor };

type Declared<Shape extends z.ZodType> = {
  readonly method: Route['method'];
  /** Below `/console/api/`. */
  readonly path: string;
  readonly role: Role;
  /** Of the body of a write, of the query of a read. */
  readonly shape: Shape;
  /** 200 unless told otherwise. */
  readonly status?: number;
};

type NamesOrganization = z.ZodType<{ readonly org: string }>;
type NamesApp = z.ZodType<{ readonly app: string }>;

export class ConsoleRoutes {
  private readonly admit: Admit;
  private readonly access: Access;

  constructor(admit: Admit, access: Access) {
    this.admit = admit;
    this.access = access;
  }

  /** A route about an organization, named by `org`. */
  onOrganization<Shape extends NamesOrganization>(
    declared: Declared<Shape>,
    work: (place: Place, input: z.output<Shape>, exchange: Exchange) => Promise<Outcome<unknown>>,
  ): Route {
    return this.declare(declared, async (input, visitor, exchange) => {
      const target = { kind: 'organization', id: input.org } as const;
      const standing = await this.access.to(visitor, target, declared.role);
      return isFailure(standing) ? standing : work(placeOf(standing, visitor), input, exchange);
    });
  }

  /** A route about an app, named by `app`: its ref or its id. */
  onApp<Shape extends NamesApp>(
    declared: Declared<Shape>,
    work: (
      place: Place & Pick<AppStanding, 'app'>,
      input: z.output<Shape>,
    ) => Promise<Outcome<unknown>>,
  ): Route {
    return this.declare(declared, async (input, visitor) => {
      const standing = await this.access.toApp(visitor, input.app, declared.role);
      if (isFailure(standing)) return standing;
      return work({ ...placeOf(standing, visitor), app: standing.app }, input);
    });
  }

  /** A POST about a key or an invitation, named by the path's `:id`. */
  onSubject(
    kind: 'key' | 'invitation',
    path: string,
    role: Role,
    work: (place: Place, id: string) => Promise<Outcome<unknown>>,
  ): Route {
    const handler = this.admit(async ({ params }, visitor) => {
      const id = params.get('id') ?? '';
      const standing = await this.access.to(visitor, { kind, id }, role);
      return isFailure(standing) ? standing : work(placeOf(standing, visitor), id);
    });
    return { method: 'POST', path: `/console/api/${path}`, handler };
  }

  /** A route of whoever calls, about nothing that belongs to an organization yet. */
  onVisitor<Shape extends z.ZodType>(
    declared: Omit<Declared<Shape>, 'role'>,
    work: (
      visitor: Visitor,
      input: z.output<Shape>,
      exchange: Exchange,
    ) => Promise<Outcome<unknown>>,
  ): Route {
    return this.declare(declared, (input, visitor, exchange) => work(visitor, input, exchange));
  }

  private declare<Shape extends z.ZodType>(
    { method, path, shape, status }: Omit<Declared<Shape>, 'role'>,
    work: (
      input: z.output<Shape>,
      visitor: Visitor,
      exchange: Exchange,
    ) => Promise<Outcome<unknown>>,
  ): Route {
    const handler = this.admit(async (exchange, visitor) => {
      const input =
        method === 'GET' ? parseQuery(exchange, shape) : await parseBody(exchange, shape);
      return isFailure(input) ? input : work(input, visitor, exchange);
    }, status);
    return { method, path: `/console/api/${path}`, handler };
  }
}

/** The request's query in a given shape; of a name given twice the last counts. */
export function parseQuery<Shape extends z.ZodType>(
  { queryText }: Pick<Exchange, 'queryText'>,
  shape: Shape,
): Outcome<z.output<Shape>> {
  return parseShape(shape, Object.fromEntries(new URLSearchParams(queryText)));
}

function placeOf({ organizationId }: Standing, visitor: Visitor): Place {
  return { organizationId, actor: visitor.actor, visitor };
}
