// Targeting as it is being edited: rows that may be unfinished, in the order they were added.

import {
  TARGET_OPERATORS,
  type TargetExpression,
  type Targeting,
  type TargetOperator,
} from '../../contract/resource.ts';

export type LabelRow = { readonly key: string; readonly values: readonly string[] };
export type TargetingDraft = {
  readonly labels: readonly LabelRow[];
  readonly expressions: readonly TargetExpression[];
};

const VERSION_OPERATORS: ReadonlySet<TargetOperator> = new Set(['VersionGte', 'VersionLt']);
const PRESENCE_OPERATORS: ReadonlySet<TargetOperator> = new Set(['Exists', 'DoesNotExist']);

/** The rows that stand for a targeting. */
export function targetingDraft(targets: Targeting | null): TargetingDraft {
  return {
    labels: Object.entries(targets?.matchLabels ?? {}).map(([key, values]) => ({ key, values })),
    expressions: targets?.matchExpressions ?? [],
  };
}

/** The targeting the rows stand for; null when there are none: every device. */
export function targetingOf({ labels, expressions }: TargetingDraft): Targeting | null {
  if (labels.length === 0 && expressions.length === 0) return null;
  return {
    // By entries, because `__proto__` is a label like any other.
    matchLabels: Object.fromEntries(labels.map(({ key, values }) => [key, values])),
    matchExpressions: expressions.map(({ key, operator, values }) => ({
      key,
      operator,
      values: takesValues(operator) ? values : [],
    })),
  };
}

/** What is still missing before the rows mean anything, or undefined when they are complete. */
export function draftObstacle({ labels, expressions }: TargetingDraft): string | undefined {
  const keys = labels.map(({ key }) => key);
  if (keys.some((key) => key === '')) return 'A label needs a name.';
  if (new Set(keys).size < keys.length)
    return 'A label stands there twice: put its values together.';
  const bare = labels.find(({ values }) => values.length === 0);
  if (bare !== undefined) return `The label ${bare.key} needs a value.`;
  if (expressions.some(({ key }) => key === '')) return 'A condition needs a field.';
  const open = expressions.find(
    ({ operator, values }) => takesValues(operator) && values.length === 0,
  );
  if (open !== undefined) return `The condition on ${open.key} needs a value.`;
  const many = expressions.find(
    ({ operator, values }) => VERSION_OPERATORS.has(operator) && values.length > 1,
  );
  return many === undefined ? undefined : 'A version is compared with exactly one other.';
}

/** Whether an operator compares with values at all. */
export function takesValues(operator: TargetOperator): boolean {
  return !PRESENCE_OPERATORS.has(operator);
}

/** The operators that make sense for a field. */
export function operatorsFor(key: string): readonly TargetOperator[] {
  return TARGET_OPERATORS.filter(
    (operator) => key === '$version' || !VERSION_OPERATORS.has(operator),
  );
}

/** The fields every device has, whatever its labels. */
export const FIELD_KEYS: readonly string[] = ['$version', '$platform', '$arch'];
