// Bodies and queries of the fleet endpoints (docs/contract.md 4.5 and 4.6): reports, decisions, failures,
// explanations.

import { z } from 'zod';
import { LIMIT } from '../../contract/limit.ts';
import type { ToldDevice } from '../../serving/explain-decision.ts';
import {
  appQuery,
  archField,
  bundleField,
  deviceIdField,
  deviceVersionField,
  labelsField,
  nameField,
  platformField,
  recordedIdField,
  textField,
  withPlus,
} from './field.ts';

// Shape of a failure: a version that a device could not install.

export const failureBody = z.strictObject({
  version: deviceVersionField,
  reason: textField(LIMIT.failureReasonLengthMax, 0)
    .transform((text) => text || undefined)
    .optional(),
});

const DEFAULT_CHANNEL = 'stable';

const channelField = textField(LIMIT.refLengthMax).default(DEFAULT_CHANNEL);

/** Fields of a device in reports and in waves. */
const deviceFields = {
  deviceId: deviceIdField,
  version: deviceVersionField,
  platform: platformField,
  arch: archField,
};

export const reportFleetBody = z.strictObject({
  app: nameField,
  devices: devicesOf(
    z.strictObject({
      ...deviceFields,
      channel: channelField,
      labels: labelsField.optional(),
      failed: failureBody.optional(),
    }),
  ),
});

export const planWaveBody = z.strictObject({
  app: nameField,
  channel: channelField,
  dryRun: z.boolean().default(false),
  devices: devicesOf(z.strictObject({ ...deviceFields, bundle: bundleField.optional() })),
});

export const deviceTokensBody = z.strictObject({
  app: nameField,
  deviceIds: z.array(deviceIdField).min(1).max(LIMIT.devicesPerCallMax),
});

function devicesOf<Device extends z.ZodType>(device: Device) {
  return z.array(device).min(1).max(LIMIT.devicesPerCallMax);
}

// Query of an explanation (docs/contract.md 4.20): a device on record, or one that the caller describes.

const LABEL_PREFIX = 'l.';
const NOT_RECORDED = 'In place of what is on record.';
const parameter = z.string().overwrite(withPlus);

/** Shape of the query after `explainInput` has collected its labels under `l`. */
export const explainQuery = appQuery.extend({
  channel: nameField.optional().describe('Channel; the one on record when left out.'),
  deviceId: recordedIdField.optional().describe('Device on record, or one to decide for.'),
  platform: platformField.optional().describe(NOT_RECORDED),
  arch: archField.describe(NOT_RECORDED),
  version: parameter.pipe(deviceVersionField).optional().describe(NOT_RECORDED),
  bundle: parameter.pipe(bundleField).optional().describe('Kind that it was installed from.'),
  l: labelsField,
});

/** Returns the parameters of a query by their names, with its labels (`l.KEY`) in one object under `l`. */
export function explainInput(queryText: string): Readonly<Record<string, unknown>> {
  const labels: [string, string][] = [];
  const parameters: [string, string][] = [];
  for (const [name, value] of new URLSearchParams(queryText)) {
    if (name.startsWith(LABEL_PREFIX)) labels.push([name.slice(LABEL_PREFIX.length), value]);
    else parameters.push([name, value]);
  }
  return { ...Object.fromEntries(parameters), l: Object.fromEntries(labels) };
}

/** Returns the description of a device in a query. */
export function toldDeviceOf({
  app: _,
  l: labels,
  ...told
}: z.output<typeof explainQuery>): ToldDevice {
  return { ...told, labels };
}
