// `GET /u/...`, the route this service exists for.

import { fail } from '../../contract/failure.ts';
import type { UpdatePlan } from '../../domain/plan.ts';
import type { Settled } from '../../operations/catalog-slot.ts';
import { manifestOf } from '../../operations/update-subject.ts';
import { failureReply, headerBlock, NO_STORE, type Reply } from '../reply.ts';
import type { Route } from '../router.ts';
import { CheckPaths } from './check-path.ts';
import { DeviceRoute, type DeviceRouteDependencies } from './device-route.ts';

const NOTHING: Reply = { status: 204, headers: NO_STORE };
const MANIFEST_HEADERS = headerBlock([...NO_STORE, ['Content-Type', 'application/json']]);

/** Builds the handlers for GET and HEAD below `/u/`. */
export function createCheckRoute(dependencies: DeviceRouteDependencies): DeviceRoute<UpdatePlan> {
  const deviceHeaders = ['x-service-device'];
  const paths = new CheckPaths();
  const parse = (path: string) => paths.parse(path);
  const question = { parse, deviceHeaders, isConditional: false, reply };
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
  const body = manifestOf(settled);
  return body === undefined ? NOTHING : { status: 200, headers: MANIFEST_HEADERS, body };
}
