// Shapes of what a caller tells of a device, in bodies and in queries.

import { z } from 'zod';
import { isFailure } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { isStorable, NOT_STORABLE } from '../../contract/text.ts';
import { readKind } from '../../domain/decision/artifact-format.ts';
import { parseVersion } from '../../domain/decision/version.ts';
import { refuseLabel } from '../../domain/fleet/labels.ts';
import { objectField, textField } from './field.ts';

export const deviceIdField = textField(LIMIT.deviceIdLengthMax);
export const platformField = textField(LIMIT.artifactNameLengthMax);
export const archField = platformField.optional();

/** Kind of installation that a device was made by: what it can be offered. */
export const bundleField = z.string().transform((text, context) => {
  const kind = readKind('', text);
  if (!isFailure(kind)) return kind;
  context.addIssue({ code: 'custom', message: kind.message.replace(/^: /, '') });
  return z.NEVER;
});

/** Version of a device in canonical form, by which the fleet is counted. */
export const deviceVersionField = z.string().transform((text, context) => {
  const version = parseVersion(text);
  if (version !== undefined) return version.canonical;
  context.addIssue({ code: 'custom', message: 'Invalid version' });
  return z.NEVER;
});

/**
 * Labels of a device, read key by key, so that no key is lost or misinterpreted: `__proto__` is a label like
 * any other.
 */
export const labelsField = objectField
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
  })
  .meta({
    type: 'object',
    additionalProperties: { type: 'string' },
    maxProperties: LIMIT.labelCountMax,
  });

function refuseEntry(key: string, value: unknown): string | undefined {
  if (typeof value !== 'string') return 'Expected a string';
  if (!isStorable(key) || !isStorable(value)) return NOT_STORABLE;
  return refuseLabel('', key, value)?.message.replace(/^: /, '');
}
