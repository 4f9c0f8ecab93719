// Routes by which edges read labels of devices and hand over what devices have said (docs/contract.md 29).

import { z } from 'zod';
import { invalidField, isFailure, type Outcome } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { CheckIn } from '../../domain/fleet/check-in.ts';
import { readBatches } from '../../domain/fleet/check-in-payload.ts';
import type { EdgeDevices } from '../../edge/server/edge-devices.ts';
import type { BodyFailureKind } from '../body.ts';
import type { Exchange } from '../exchange.ts';
import type { Route } from '../router.ts';
import { nameField, textField, wholeField } from '../shape/field.ts';
import { parseBody, parseShape } from '../shape/parse-shape.ts';
import type { EdgeGuard } from './edge-guard.ts';

const deviceIdField = textField(LIMIT.deviceIdLengthMax);
const labelsBody = z.strictObject({
  devices: z
    .array(z.strictObject({ appId: nameField, deviceId: deviceIdField }))
    .max(LIMIT.edgeDevicesMax),
});
const changesQuery = z.object({
  after: wholeField(0, Number.MAX_SAFE_INTEGER, 0).optional(),
});
const failuresBody = z.strictObject({
  failures: z
    .array(
      z.strictObject({
        appId: nameField,
        channel: nameField,
        deviceId: deviceIdField,
        runs: nameField.optional(),
        canonicalVersion: nameField,
        reason: textField(LIMIT.failureReasonLengthMax, 0).optional(),
        network: textField(64, 0).optional(),
      }),
    )
    .max(LIMIT.edgeDevicesMax),
});

/** Builds the routes about devices. */
export function edgeDeviceRoutes(guard: EdgeGuard, devices: EdgeDevices): readonly Route[] {
  return [
    {
      method: 'POST',
      path: '/edge/v1/labels',
      handler: guard(async ({ scope }, exchange) => {
        const body = await parseBody(exchange, labelsBody);
        return isFailure(body) ? body : devices.readLabels(scope, body.devices);
      }),
    },
    {
      method: 'GET',
      path: '/edge/v1/label-changes',
      handler: guard(async ({ scope }, { queryText }) => {
        const given = Object.fromEntries(new URLSearchParams(queryText));
        const query = parseShape(changesQuery, given);
        if (isFailure(query)) return query;
        const after = given.after === undefined ? undefined : query.after;
        return devices.readLabelChanges(scope, after);
      }),
    },
    {
      method: 'POST',
      path: '/edge/v1/check-ins',
      bodyBytesMax: LIMIT.edgeBodyBytesMax,
      handler: guard(async ({ scope }, exchange) => {
        const checkIns = await readCheckIns(exchange);
        return isFailure(checkIns) ? checkIns : devices.take(scope, checkIns);
      }),
    },
    {
      method: 'POST',
      path: '/edge/v1/check-ins/awaited',
      bodyBytesMax: LIMIT.edgeBodyBytesMax,
      handler: guard(async ({ scope }, exchange) => {
        const checkIns = await readCheckIns(exchange);
        return isFailure(checkIns) ? checkIns : devices.record(scope, checkIns);
      }),
    },
    {
      method: 'POST',
      path: '/edge/v1/failures',
      bodyBytesMax: LIMIT.edgeFailuresBytesMax,
      handler: guard(async ({ scope }, exchange) => {
        const body = await parseBody(exchange, failuresBody);
        if (isFailure(body)) return body;
        const failures = body.failures.map(({ runs, reason, network, ...each }) => ({
          ...each,
          runs,
          reason,
          network,
        }));
        return devices.reportFailures(scope, failures);
      }),
    },
  ];
}

/** Reads the check-ins of a body. */
async function readCheckIns(
  exchange: Exchange,
): Promise<Outcome<readonly CheckIn[], 'invalid' | BodyFailureKind>> {
  const body = await exchange.body;
  if (isFailure(body)) return body;
  const checkIns: CheckIn[] = [];
  let number = 0;
  for (const batch of readBatches(body)) {
    if (batch === undefined) return invalidField(`batches.${number}`, 'Malformed check-ins');
    // One by one: as arguments of a call, very many would not fit on the stack.
    for (const checkIn of batch) checkIns.push(checkIn);
    number += 1;
  }
  return checkIns;
}
