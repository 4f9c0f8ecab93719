// Bodies of the fleet endpoints (contract 4.5 and 4.6).

import { z } from 'zod';
import { LIMIT } from '../../contract/limit.ts';
import { refuseLabel } from '../../domain/label.ts';
import { parseVersion } from '../../domain/version.ts';
import { isPlainObject } from '../is-plain-object.ts';
import { isStorable, nameField, textField } from './field.ts';

const DEFAULT_CHANNEL = 'stable';

const deviceIdField = textField(LIMIT.deviceIdLengthMax);
const platformField = textField(LIMIT.artifactNameLengthMax);
const archField = platformField.optional();
const channelField = textField(LIMIT.refLengthMax).default(DEFAULT_CHANNEL);

/** Read to its canonical form, which is what the fleet is counted by. */
const deviceVersionField = z.string().transform((text, context) => {
  const version = parseVersion(text);
  if (version !== undefined) return version.canonical;
  context.addIssue({ code: 'custom', message: 'Invalid version' });
  return z.NEVER;
});

/** Key by key, so that no key is lost or taken for something else: `__proto__` is a label like any other. */
const labelsField = z
  .custom<Record<string, unknown>>(isPlainObject, { error: 'Expected an object' })
  .transform((record, context) => {
    const labels = new Map<string, string>();
    const entries = Object.entries(record);
    if (entries.length > LIMIT.labelCountMax) {
      context.addIssue({ code: 'custom', message: `At most ${LIMIT.labelCountMax} labels` });
    }
    for (const [key, value] of entries) {
      const reason = refuseEntry(key, value);
      if (reason !== undefined) context.addIssue({ code: 'custom', path: [key], message: reason });
      else labels.set(key, String(value));
    }
    return labels;
  });

/** What both calls say of a device. */
const deviceFields = {
  deviceId: deviceIdField,
  version: deviceVersionField,
  platform: platformField,
  arch: archField,
};

export const reportFleetBody = z.strictObject({
  app: nameField,
  devices: devicesOf(
    z.strictObject({ ...deviceFields, channel: channelField, labels: labelsField.optional() }),
  ),
});

export const planWaveBody = z.strictObject({
  app: nameField,
  channel: channelField,
  dryRun: z.boolean().default(false),
  devices: devicesOf(z.strictObject(deviceFields)),
});

function devicesOf<Device extends z.ZodType>(device: Device) {
  return z.array(device).min(1).max(LIMIT.devicesPerCallMax);
}

function refuseEntry(key: string, value: unknown): string | undefined {
  if (typeof value !== 'string') return 'Expected a string';
  if (!isStorable(key) || !isStorable(value)) return 'Must not contain NUL or broken characters';
  return refuseLabel('', key, value)?.message.replace(/^: /, '');
}
