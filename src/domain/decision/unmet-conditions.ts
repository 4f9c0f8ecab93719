// Describes the targeting conditions that a device does not meet, for people.

import type { TargetExpression, Targeting } from '../../contract/resource.ts';
import {
  compileTargeting,
  type Labels,
  matchesFields,
  matchesLabels,
  type RequestFields,
} from './targeting.ts';

const WORDS: Readonly<Record<TargetExpression['operator'], string>> = {
  In: 'must be one of',
  NotIn: 'must be set, and none of',
  Exists: 'must be set',
  DoesNotExist: 'must not be set',
  VersionGte: 'must be at least',
  VersionLt: 'must be below',
};

/** Returns one sentence without its full stop per unmet condition. */
export function unmetConditions(
  targets: Targeting | null,
  fields: RequestFields,
  labels: Labels,
): readonly string[] {
  return unmetExpressions(targets, fields, labels).map((condition) =>
    describe(condition, fields, labels),
  );
}

/**
 * Returns the unmet conditions as expressions; one on `matchLabels` becomes an `In` expression. Tests them
 * with the same code as update checks.
 */
export function unmetExpressions(
  targets: Targeting | null,
  fields: RequestFields,
  labels: Labels,
): readonly TargetExpression[] {
  if (targets === null) return [];
  const conditions: TargetExpression[] = [
    ...Object.entries(targets.matchLabels).map(
      ([key, values]): TargetExpression => ({ key, operator: 'In', values }),
    ),
    ...targets.matchExpressions,
  ];
  return conditions.filter((condition) => !isMet(condition, fields, labels));
}

function isMet(condition: TargetExpression, fields: RequestFields, labels: Labels): boolean {
  const compiled = compileTargeting({ matchLabels: {}, matchExpressions: [condition] });
  return matchesFields(compiled.fieldTests, fields) && matchesLabels(compiled.labelTests, labels);
}

function describe(
  { key, operator, values }: TargetExpression,
  fields: RequestFields,
  labels: Labels,
): string {
  const wanted = values.length === 0 ? WORDS[operator] : `${WORDS[operator]} ${values.join(', ')}`;
  const present = key.startsWith('$') ? fieldText(key, fields) : labels.get(key);
  const subject = key.startsWith('$') ? key.slice(1) : `label ${key}`;
  return `${subject} ${wanted}, and is ${present === undefined || present === '' ? 'not set' : present}`;
}

function fieldText(key: string, { version, platform, arch }: RequestFields): string | undefined {
  if (key === '$platform') return platform;
  return key === '$arch' ? arch : version?.canonical;
}
