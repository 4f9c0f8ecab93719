// Routes of the console API for approvals: waiting requests, and decisions about them (docs/contract.md 33).

import { z } from 'zod';
import { isFailure } from '../../contract/failure.ts';
import type { AskedOperation } from '../../contract/resource.ts';
import type { ConsoleRoutes } from '../endpoint/console-route.ts';
import { nameField, reasonField } from '../endpoint/field.ts';
import type { AskedChange, ChangeServices } from '../endpoint/key-operation.ts';
import { parseShape } from '../endpoint/parse-shape.ts';
import type { Route } from '../transport/router.ts';
import { UPDATE_CHANNEL } from './app-routes.ts';
import { approvalQuery } from './approval-operations.ts';
import { SESSION_ROUTES } from './key-routes.ts';

const listQuery = approvalQuery.extend({ org: nameField });
const decisionBody = z.strictObject({ reason: reasonField.optional() });

/** Changes that may wait for an approval, by the names of their operations. */
const ASKED = new Map<AskedOperation, AskedChange>(
  [...SESSION_ROUTES, UPDATE_CHANNEL].flatMap(({ asks }) =>
    asks === undefined ? [] : [[asks.operation, asks]],
  ),
);

export function approvalRoutes(routes: ConsoleRoutes, services: ChangeServices): readonly Route[] {
  const { approvals } = services;
  return [
    routes.on('GET approvals', 'viewer of organization', { input: listQuery })(
      (context, { org: _, ...filter }) => approvals.list(context, filter),
    ),
    routes.plain('GET approvals/:id', 'viewer of approval', (context) =>
      approvals.find(context, context.id),
    ),
    routes.on('POST approvals/:id/approve', 'publisher of approval', { input: decisionBody })(
      async ({ id, ...context }, { reason }) => {
        const found = await approvals.find(context, id);
        if (isFailure(found)) return found;
        const { operation, body } = found.approval.request;
        const change = ASKED.get(operation);
        if (change === undefined) throw new Error(`No operation ${operation} can be carried out`);
        return approvals.approve(context, { id, reason }, async () => {
          const read = parseShape(change.input, body);
          if (isFailure(read)) return read;
          return change.run(services, context, read as never, { id, reason });
        });
      },
    ),
    routes.on('POST approvals/:id/decline', 'publisher of approval', { input: decisionBody })(
      ({ id, ...context }, { reason }) => approvals.decline(context, { id, reason }),
    ),
  ];
}
