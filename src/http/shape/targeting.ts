// Shape of the targeting object that callers send. Every mistake that could make a release reach other
// devices than the publisher meant is refused here, when targeting is set: an update check validates nothing.

import { z } from 'zod';
import { LIMIT } from '../../contract/limit.ts';
import {
  TARGET_OPERATORS,
  type TargetExpression,
  type TargetOperator,
} from '../../contract/resource.ts';
import { isStorable, NOT_STORABLE } from '../../contract/text.ts';
import { parseVersion } from '../../domain/decision/version.ts';
import { refuseLabel } from '../../domain/fleet/labels.ts';
import { objectField, textField } from './field.ts';

const RESERVED_KEYS = new Set(['$version', '$platform', '$arch']);
const VERSION_OPERATORS = new Set<TargetOperator>(['VersionGte', 'VersionLt']);
const PRESENCE_OPERATORS = new Set<TargetOperator>(['Exists', 'DoesNotExist']);

const valueField = textField(LIMIT.labelValueLengthMax, 0);
const valuesField = z.array(valueField);

/**
 * Label rules, read key by key instead of through `z.record`: a key like `__proto__` must stay a key, because
 * a lost label rule would offer the release to all devices.
 */
const matchLabelsField = objectField
  .transform((record, context) => {
    const entries: [string, string[]][] = [];
    for (const [key, value] of Object.entries(record)) {
      const reason = refuseKey(key);
      if (reason !== undefined) context.addIssue({ code: 'custom', path: [key], message: reason });
      const values = valuesField.min(1).safeParse(value);
      if (values.success) entries.push([key, values.data]);
      else context.addIssue({ code: 'custom', path: [key], message: 'Expected a list of values' });
    }
    return Object.fromEntries(entries);
  })
  .meta({
    type: 'object',
    additionalProperties: { type: 'array', items: { type: 'string' }, minItems: 1 },
  });

const expressionField = z
  .strictObject({
    key: textField(LIMIT.labelKeyLengthMax),
    operator: z.enum(TARGET_OPERATORS),
    values: valuesField.default([]),
  })
  .superRefine((expression, context) => {
    const refusal = refuseExpression(expression);
    if (refusal === undefined) return;
    context.addIssue({ code: 'custom', path: [refusal.field], message: refusal.reason });
  });

/** Shape of a complete targeting object; parts left out are empty. */
export const targetingField = z.strictObject({
  matchLabels: matchLabelsField.default({}),
  matchExpressions: z.array(expressionField).default([]),
});

type Refusal = { readonly field: keyof TargetExpression; readonly reason: string };

function refuseExpression({ key, operator, values }: TargetExpression): Refusal | undefined {
  if (key.startsWith('$') && !RESERVED_KEYS.has(key)) {
    return { field: 'key', reason: 'Unknown reserved field' };
  }
  if (VERSION_OPERATORS.has(operator)) return refuseVersionTest(key, operator, values);
  if (PRESENCE_OPERATORS.has(operator)) {
    return values.length === 0
      ? undefined
      : { field: 'values', reason: `${operator} takes no values` };
  }
  if (values.length === 0) return { field: 'values', reason: 'Must have at least 1 item' };
  // A typo in a version list would silently match nothing, or with NotIn everything.
  if (key === '$version' && !values.every(isVersion)) {
    return { field: 'values', reason: 'Invalid version' };
  }
  return undefined;
}

function refuseVersionTest(
  key: string,
  operator: TargetOperator,
  values: readonly string[],
): Refusal | undefined {
  if (key !== '$version') return { field: 'key', reason: `${operator} applies to $version only` };
  const [version, ...others] = values;
  if (version === undefined || others.length > 0) {
    return { field: 'values', reason: `${operator} takes exactly one version` };
  }
  return isVersion(version) ? undefined : { field: 'values', reason: 'Invalid version' };
}

function refuseKey(key: string): string | undefined {
  if (!isStorable(key)) return NOT_STORABLE;
  const refusal = refuseLabel('', key, '');
  return refusal?.message.replace(/^: /, '');
}

function isVersion(text: string): boolean {
  return parseVersion(text) !== undefined;
}
