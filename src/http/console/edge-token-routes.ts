// Routes of the console API by which the operator gives edges their tokens.

import { z } from 'zod';
import { actorOf, type Visitor } from '../../access/access.ts';
import { type FailureKind, fail, type Outcome } from '../../contract/failure.ts';
import type { EdgeTokens } from '../../edge/server/edge-tokens.ts';
import type { Route } from '../router.ts';
import { nameField, titleField } from '../shape/field.ts';
import type { ConsoleRoutes } from './console-route.ts';

const tokenQuery = z.object({});
const newTokenBody = z.strictObject({ name: titleField, org: nameField.nullable() });
const tokenBody = z.strictObject({ id: nameField });

/** Builds the routes for the tokens of edges, which only the admin token may use. */
export function edgeTokenRoutes(routes: ConsoleRoutes, tokens: EdgeTokens): readonly Route[] {
  return [
    routes.onVisitor({ method: 'GET', path: 'edge-tokens', shape: tokenQuery }, (visitor) =>
      forOperator(visitor, async () => ({ edgeTokens: await tokens.list() })),
    ),
    routes.onVisitor(
      { method: 'POST', path: 'edge-tokens', shape: newTokenBody, status: 201 },
      (visitor, { name, org }) =>
        forOperator(visitor, () => tokens.create(name, org, actorOf(visitor, undefined))),
    ),
    routes.onVisitor(
      { method: 'POST', path: 'edge-tokens/revoke', shape: tokenBody },
      (visitor, { id }) =>
        forOperator(visitor, () => tokens.revoke(id, actorOf(visitor, undefined))),
    ),
  ];
}

async function forOperator<Value, Kind extends FailureKind>(
  { session }: Visitor,
  work: () => Promise<Outcome<Value, Kind>>,
): Promise<Outcome<Value, Kind | 'forbidden'>> {
  return session === undefined ? work() : fail('forbidden');
}
