// All operations of the management API, and their routes for callers with a key.

import { isFailure } from '../../contract/failure.ts';
import { createGuard, type GuardDependencies } from '../endpoint/guard.ts';
import type { KeyOperation, Services, SessionRoute } from '../endpoint/key-operation.ts';
import { failureReply } from '../transport/reply.ts';
import type { Route } from '../transport/router.ts';
import { APPROVAL_OPERATIONS } from './approval-operations.ts';
import { DDI_CREDENTIAL_OPERATIONS } from './ddi-credential-routes.ts';
import { FLEET_OPERATIONS, READING_OPERATIONS } from './fleet-operations.ts';
import { PLAN_OPERATIONS } from './plan-operations.ts';
import { RELEASE_OPERATIONS } from './release-operations.ts';
import { STOP_OPERATIONS } from './stop-operations.ts';

/** Operations below `/api/v1`, in the order in which the OpenAPI document lists them. */
export const KEY_OPERATIONS: readonly KeyOperation[] = [
  ...RELEASE_OPERATIONS,
  ...PLAN_OPERATIONS,
  ...STOP_OPERATIONS,
  ...APPROVAL_OPERATIONS,
  ...READING_OPERATIONS,
  ...FLEET_OPERATIONS,
  ...DDI_CREDENTIAL_OPERATIONS,
];

/** Routes of the console API for operations that keys may call as well. */
export const SESSION_ROUTES: readonly SessionRoute[] = KEY_OPERATIONS.flatMap(
  ({ sessionRoutes = [] }) => sessionRoutes,
);

/** Builds the routes below `/api/v1`. */
export function keyRoutes(guards: GuardDependencies, services: Services): readonly Route[] {
  const guard = createGuard(guards);
  return KEY_OPERATIONS.map(({ method, path, limits, right, serve }) => ({
    ...{ method, path, ...limits },
    handler: guard(right, async (caller, exchange) => {
      const outcome = await serve(services, caller, exchange);
      return isFailure(outcome) ? failureReply(outcome) : outcome;
    }),
  }));
}
