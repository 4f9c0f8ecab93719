// Routes of the management API that read one thing: a release, an app's channels, a device, and why it gets
// what it gets (docs/contract.md 4.17 to 4.20).

import { z } from 'zod';
import type { Caller } from '../../access/api-keys.ts';
import { isFailure } from '../../contract/failure.ts';
import type { ExplainDecision } from '../../serving/explain-decision.ts';
import type { Ledger } from '../../store/ledger.ts';
import type { Exchange } from '../exchange.ts';
import { failureReply, jsonReply, type Reply } from '../reply.ts';
import type { Route } from '../router.ts';
import { explainInput, explainQuery, toldDeviceOf } from '../shape/explain-query.ts';
import { nameField } from '../shape/field.ts';
import { noteApp, parseShape } from '../shape/parse-shape.ts';
import { createGuard, type GuardDependencies } from './guard.ts';

export type ReadingDependencies = GuardDependencies & {
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
      handler: guard('read', async ({ reach }, { params }) => {
        const found = await ledger.readOwnedRelease(reach, params.get('id') ?? '');
        return isFailure(found) ? failureReply(found) : jsonReply(200, found);
      }),
    },
    {
      method: 'GET',
      path: '/api/v1/channels',
      handler: guard('read', async ({ reach }, exchange) => {
        const query = readQuery(exchange);
        if (isFailure(query)) return failureReply(query);
        const channels = await ledger.listChannels(reach, query.app);
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
  { reach }: Caller,
  exchange: Exchange,
): Promise<Reply> {
  const query = readQuery(exchange);
  if (isFailure(query)) return failureReply(query);
  const app = await ledger.findApp(reach, query.app);
  if (isFailure(app)) return failureReply(app);
  const found = await ledger.readDevice(app.id, exchange.params.get('deviceId') ?? '');
  if (isFailure(found)) return failureReply(found);
  const { history: _, ...device } = found;
  return jsonReply(200, { device });
}

async function explain(
  { ledger, explainer }: ReadingDependencies,
  { reach }: Caller,
  exchange: Exchange,
): Promise<Reply> {
  const input = explainInput(exchange.queryText);
  noteApp(exchange, input);
  const query = parseShape(explainQuery, input);
  if (isFailure(query)) return failureReply(query);
  const app = await ledger.findApp(reach, query.app);
  if (isFailure(app)) return failureReply(app);
  const explained = await explainer.explainTold(app, toldDeviceOf(query));
  return isFailure(explained) ? failureReply(explained) : jsonReply(200, explained);
}

function readQuery(exchange: Exchange) {
  const query = Object.fromEntries(new URLSearchParams(exchange.queryText));
  noteApp(exchange, query);
  return parseShape(appQuery, query);
}
