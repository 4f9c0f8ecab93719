// Routes for edges (docs/contract.md 29).

import { z } from 'zod';
import { isFailure } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { EdgeDevices } from '../../edge/server/edge-devices.ts';
import type { EdgeIndex } from '../../edge/server/edge-index.ts';
import type { EdgeSnapshots } from '../../edge/server/edge-snapshots.ts';
import type { EdgeAhead } from '../../serving/edge-ahead.ts';
import type { Route } from '../router.ts';
import { nameField, textField, wholeField } from '../shape/field.ts';
import { parseBody, parseShape } from '../shape/parse-shape.ts';
import { edgeDeviceRoutes } from './edge-device-routes.ts';
import { createEdgeGuard, type EdgeGuardDependencies } from './edge-guard.ts';

export type EdgeRouteDependencies = Omit<EdgeGuardDependencies, 'record'> & {
  readonly index: EdgeIndex;
  readonly ahead: EdgeAhead;
  readonly snapshots: EdgeSnapshots;
  readonly devices: EdgeDevices;
  /** Returns the ledger's time in milliseconds since 1970. */
  readonly now: () => number;
};

/** Length of a nonce and of eight signatures. */
const PROOF_LENGTH_MAX = 1024;
const ENTITY_TAG = /^"([\w-]{1,64})"$/;

const indexQuery = z.object({ wait: wholeField(0, LIMIT.edgeWaitMsMax, 0) });
const aheadBody = z.strictObject({
  proof: textField(PROOF_LENGTH_MAX),
  index: textField(LIMIT.edgeBodyBytesMax),
});
const orderField = z.strictObject({ epoch: z.int().min(0), revision: z.int().min(0) });
const snapshotBody = z.strictObject({
  app: nameField,
  channel: nameField,
  atLeast: orderField.optional(),
  known: z.array(nameField).max(LIMIT.channelReleasesMax * 2),
});
const releasesBody = z.strictObject({
  app: nameField,
  channel: nameField,
  editions: z.array(nameField).max(LIMIT.channelReleasesMax * 2),
});
const offerBody = z.strictObject({
  app: nameField,
  channel: nameField,
  state: orderField,
  release: nameField,
});

/** Builds the routes below `/edge/v1`. */
export function edgeRoutes(dependencies: EdgeRouteDependencies): readonly Route[] {
  const { index, ahead, snapshots, devices, now } = dependencies;
  const guard = createEdgeGuard({ ...dependencies, record: () => index.record() });
  return [
    ...edgeDeviceRoutes(guard, devices),
    {
      method: 'GET',
      path: '/edge/v1/index',
      handler: guard(async ({ scope }, { queryText, headers }) => {
        const query = parseShape(indexQuery, Object.fromEntries(new URLSearchParams(queryText)));
        if (isFailure(query)) return query;
        const [, heldTag] = ENTITY_TAG.exec(headers.get('if-none-match') ?? '') ?? [];
        return index.next(scope, heldTag, query.wait);
      }),
    },
    {
      method: 'POST',
      path: '/edge/v1/ahead',
      bodyBytesMax: LIMIT.edgeBodyBytesMax,
      handler: guard(async ({ tokenId }, exchange) => {
        const body = await parseBody(exchange, aheadBody);
        return isFailure(body) ? body : ahead.settle(tokenId, body);
      }),
    },
    {
      method: 'GET',
      path: '/edge/v1/time',
      handler: guard(async () => ({ kind: 'time', at: Math.floor(now()) })),
    },
    {
      method: 'POST',
      path: '/edge/v1/snapshot',
      handler: guard(async ({ scope }, exchange) => {
        const body = await parseBody(exchange, snapshotBody);
        if (isFailure(body)) return body;
        const { known, ...wanted } = body;
        return snapshots.read(scope, { ...wanted, atLeast: wanted.atLeast }, known);
      }),
    },
    {
      method: 'POST',
      path: '/edge/v1/releases',
      handler: guard(async ({ scope }, exchange) => {
        const body = await parseBody(exchange, releasesBody);
        if (isFailure(body)) return body;
        const { editions, ...wanted } = body;
        return snapshots.readReleases(scope, { ...wanted, atLeast: undefined }, editions);
      }),
    },
    {
      method: 'POST',
      path: '/edge/v1/offer',
      handler: guard(async ({ scope }, exchange) => {
        const body = await parseBody(exchange, offerBody);
        if (isFailure(body)) return body;
        const { release, state, ...wanted } = body;
        return snapshots.offer(scope, { ...wanted, atLeast: state }, release);
      }),
    },
  ];
}
