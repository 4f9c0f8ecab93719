// Query of an explanation (docs/contract.md 4.20): a device on record, or one that the caller describes.

import { z } from 'zod';
import type { ToldDevice } from '../../serving/explain-decision.ts';
import {
  archField,
  bundleField,
  deviceIdField,
  deviceVersionField,
  labelsField,
  platformField,
} from './device-field.ts';
import { nameField, withPlus } from './field.ts';

const LABEL_PREFIX = 'l.';
const parameter = z.string().overwrite(withPlus);

/** Shape of the query after `explainInput` has gathered its labels under `l`. */
export const explainQuery = z.object({
  app: nameField,
  channel: nameField.optional(),
  deviceId: deviceIdField.optional(),
  platform: platformField.optional(),
  arch: archField,
  version: parameter.pipe(deviceVersionField).optional(),
  bundle: parameter.pipe(bundleField).optional(),
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

/** Returns what a query tells of its device. */
export function toldDeviceOf({
  app: _,
  l: labels,
  ...told
}: z.output<typeof explainQuery>): ToldDevice {
  return { ...told, labels };
}
