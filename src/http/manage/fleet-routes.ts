// Routes of the management API that are about devices: push mode (docs/contract.md 4.5 and 4.6), and
// reading devices, channels and explanations with a key.

import { z } from 'zod';
import type { Caller } from '../../access/api-keys.ts';
import { isFailure } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { type ReportFleetDependencies, reportFleet } from '../../fleet/fleet-views.ts';
import type { ExplainDecision } from '../../serving/explain-decision.ts';
import type { PlanWave, Wave, WaveDecision } from '../../serving/fleet-decisions.ts';
import type { Ledger } from '../../store/ledger.ts';
import type { Exchange } from '../exchange.ts';
import { failureReply, jsonReply, type Reply } from '../reply.ts';
import type { Route } from '../router.ts';
import { nameField } from '../shape/field.ts';
import {
  explainInput,
  explainQuery,
  planWaveBody,
  reportFleetBody,
  toldDeviceOf,
} from '../shape/fleet-body.ts';
import { noteApp, parseBody, parseShape } from '../shape/parse-shape.ts';
import { createGuard, type GuardDependencies } from './guard.ts';

type FleetDependencies = GuardDependencies &
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

// Routes of the management API that read one thing: a release, an app's channels, a device, and why it gets
// what it gets (docs/contract.md 4.17 to 4.20).

type ReadingDependencies = GuardDependencies & {
  readonly ledger: Pick<Ledger, 'readOwnedRelease' | 'listChannels' | 'findApp' | 'readDevice'>;
  readonly explainer: ExplainDecision;
};

const appQuery = z.object({ app: nameField });

/** Builds the routes of single releases, channels, devices and explanations. */
export function readingRoutes(dependencies: ReadingDependencies): readonly Route[] {
  const { ledger } = dependencies;
  const guard = createGuard(dependencies);
  return [
    {
      method: 'GET',
      path: '/api/v1/releases/:id',
      handler: guard('read', async ({ scope }, { params }) => {
        const found = await ledger.readOwnedRelease(scope, params.get('id') ?? '');
        return isFailure(found) ? failureReply(found) : jsonReply(200, found);
      }),
    },
    {
      method: 'GET',
      path: '/api/v1/channels',
      handler: guard('read', async ({ scope }, exchange) => {
        const query = readQuery(exchange);
        if (isFailure(query)) return failureReply(query);
        const channels = await ledger.listChannels(scope, query.app);
        return isFailure(channels) ? failureReply(channels) : jsonReply(200, { channels });
      }),
    },
    {
      method: 'GET',
      path: '/api/v1/devices/:deviceId',
      handler: guard('read', (caller, exchange) => readDevice(ledger, caller, exchange)),
    },
    {
      method: 'GET',
      path: '/api/v1/explain',
      handler: guard('read', (caller, exchange) => explain(dependencies, caller, exchange)),
    },
  ];
}

async function readDevice(
  ledger: ReadingDependencies['ledger'],
  { scope }: Caller,
  exchange: Exchange,
): Promise<Reply> {
  const query = readQuery(exchange);
  if (isFailure(query)) return failureReply(query);
  const app = await ledger.findApp(scope, query.app);
  if (isFailure(app)) return failureReply(app);
  const found = await ledger.readDevice(app.id, exchange.params.get('deviceId') ?? '');
  if (isFailure(found)) return failureReply(found);
  const { history: _, ...device } = found;
  return jsonReply(200, { device });
}

async function explain(
  { ledger, explainer }: ReadingDependencies,
  { scope }: Caller,
  exchange: Exchange,
): Promise<Reply> {
  const input = explainInput(exchange.queryText);
  noteApp(exchange, input);
  const query = parseShape(explainQuery, input);
  if (isFailure(query)) return failureReply(query);
  const app = await ledger.findApp(scope, query.app);
  if (isFailure(app)) return failureReply(app);
  const explained = await explainer.explainTold(app, toldDeviceOf(query));
  return isFailure(explained) ? failureReply(explained) : jsonReply(200, explained);
}

function readQuery(exchange: Exchange) {
  const query = Object.fromEntries(new URLSearchParams(exchange.queryText));
  noteApp(exchange, query);
  return parseShape(appQuery, query);
}
