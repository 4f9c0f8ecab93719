// Bodies of the fleet endpoints (docs/contract.md 4.5 and 4.6).

import { z } from 'zod';
import { LIMIT } from '../../contract/limit.ts';
import {
  archField,
  bundleField,
  deviceIdField,
  deviceVersionField,
  labelsField,
  platformField,
} from './device-field.ts';
import { failureBody } from './failure-body.ts';
import { nameField, textField } from './field.ts';

const DEFAULT_CHANNEL = 'stable';

const channelField = textField(LIMIT.refLengthMax).default(DEFAULT_CHANNEL);

/** Fields of a device that both bodies have. */
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

function devicesOf<Device extends z.ZodType>(device: Device) {
  return z.array(device).min(1).max(LIMIT.devicesPerCallMax);
}
