// Routes of the management API for push mode (docs/contract.md 4.5 and 4.6).

import type { Caller } from '../../access/api-keys.ts';
import { isFailure } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { type ReportFleetDependencies, reportFleet } from '../../fleet/fleet-views.ts';
import type { PlanWave, Wave, WaveDecision } from '../../serving/fleet-decisions.ts';
import type { Exchange } from '../exchange.ts';
import { failureReply, jsonReply, type Reply } from '../reply.ts';
import type { Route } from '../router.ts';
import { planWaveBody, reportFleetBody } from '../shape/fleet-body.ts';
import { parseBody } from '../shape/parse-shape.ts';
import { createGuard, type GuardDependencies } from './guard.ts';

export type FleetDependencies = GuardDependencies &
  ReportFleetDependencies & { readonly planWave: PlanWave };

/** Builds the routes below `/api/v1/fleet`. */
export function fleetRoutes(dependencies: FleetDependencies): readonly Route[] {
  const guard = createGuard(dependencies);
  return [
    {
      method: 'POST',
      path: '/api/v1/fleet/report',
      bodyBytesMax: LIMIT.reportBodyBytesMax,
      bodyMsMax: LIMIT.reportBodyMsMax,
      handler: guard('fleet', (caller, exchange) => report(dependencies, caller, exchange)),
    },
    {
      method: 'POST',
      path: '/api/v1/fleet/decisions',
      handler: guard('fleet', (caller, exchange) =>
        planWave(dependencies.planWave, caller, exchange),
      ),
    },
  ];
}

async function report(
  dependencies: ReportFleetDependencies,
  caller: Caller,
  exchange: Exchange,
): Promise<Reply> {
  const body = await parseBody(exchange, reportFleetBody);
  if (isFailure(body)) return failureReply(body);
  const reported = await reportFleet(dependencies, caller, body, Date.now());
  return isFailure(reported) ? failureReply(reported) : jsonReply(200, reported);
}

async function planWave(planner: PlanWave, caller: Caller, exchange: Exchange): Promise<Reply> {
  const body = await parseBody(exchange, planWaveBody);
  if (isFailure(body)) return failureReply(body);
  const wave = await planner.plan(caller, body, Date.now());
  return isFailure(wave) ? failureReply(wave) : waveReply(wave);
}

/**
 * Writes a wave from the finished bytes of its manifests, so that 500 devices serialise none of them again.
 */
function waveReply({ app, channel, decisions }: Wave): Reply {
  const offered = decisions.filter(({ update }) => update !== undefined).length;
  const head = `{"app":${JSON.stringify(app)},"channel":${JSON.stringify(channel)},"decisions":[`;
  const parts: Buffer[] = [Buffer.from(head)];
  for (const [index, decision] of decisions.entries()) {
    parts.push(Buffer.from(decisionHead(decision, index > 0)), decision.update ?? NULL, CLOSE);
  }
  parts.push(Buffer.from(`],"updatesOffered":${offered}}`));
  return { status: 200, contentType: 'application/json', body: Buffer.concat(parts) };
}

const NULL = Buffer.from('null');
const CLOSE = Buffer.from('}');

function decisionHead({ deviceId }: WaveDecision, isFollowing: boolean): string {
  return `${isFollowing ? ',' : ''}{"deviceId":${JSON.stringify(deviceId)},"update":`;
}
