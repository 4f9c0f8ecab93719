// `GET /u/...`, the route this service exists for.

import { fail } from '../../contract/failure.ts';
import type { UpdatePlan } from '../../domain/plan.ts';
import type { Settled } from '../../operations/check-update.ts';
import { updateAnswer } from '../../operations/update-answer.ts';
import { failureReply, type Reply } from '../reply.ts';
import type { Route } from '../router.ts';
import { parseCheckPath } from './check-path.ts';
import { DeviceRoute, type DeviceRouteDependencies } from './device-route.ts';

/** The answer depends on a header and moves with every publish: no cache may keep it. */
const NO_STORE = [['Cache-Control', 'no-store']] as const;
const NOTHING: Reply = { status: 204, headers: NO_STORE };

/** Builds the handlers for GET and HEAD below `/u/`. */
export function createCheckRoute(dependencies: DeviceRouteDependencies): DeviceRoute<UpdatePlan> {
  const deviceHeaders = ['x-service-device'];
  const question = { parse: parseCheckPath, deviceHeaders, isConditional: false, reply };
  return new DeviceRoute(question, dependencies);
}

/**
 * Stands in the router for the path, whose GET and HEAD never get there: any other method is 405.
 */
export const CHECK_PLACEHOLDER: Route = {
  method: 'GET',
  path: '/u/:appRef/:channel/:platform/:arch/:version',
  handler: () => failureReply(fail('notFound')),
};

function reply(settled: Settled<UpdatePlan>): Reply {
  const { body } = updateAnswer(settled);
  if (body === undefined) return NOTHING;
  return { status: 200, contentType: 'application/json', headers: NO_STORE, body };
}
