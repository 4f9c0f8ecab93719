// Targeting that is being edited: rows that may be incomplete, in the order in which they were added.

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

/** Converts a targeting object to rows. */
export function targetingDraft(targets: Targeting | null): TargetingDraft {
  return {
    labels: Object.entries(targets?.matchLabels ?? {}).map(([key, values]) => ({ key, values })),
    expressions: targets?.matchExpressions ?? [],
  };
}

/** Converts rows to a targeting object; null, which targets every device, when there are none. */
export function targetingOf({ labels, expressions }: TargetingDraft): Targeting | null {
  if (labels.length === 0 && expressions.length === 0) return null;
  return {
    // Built from entries, because `__proto__` is a valid label key.
    matchLabels: Object.fromEntries(labels.map(({ key, values }) => [key, values])),
    matchExpressions: expressions.map(({ key, operator, values }) => ({
      key,
      operator,
      values: takesValues(operator) ? values : [],
    })),
  };
}

/** Returns what is missing in incomplete rows, or undefined when all rows are complete. */
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

/** Returns whether an operator takes values. */
export function takesValues(operator: TargetOperator): boolean {
  return !PRESENCE_OPERATORS.has(operator);
}

/** Returns the operators that are valid for a field. */
export function operatorsFor(key: string): readonly TargetOperator[] {
  return TARGET_OPERATORS.filter(
    (operator) => key === '$version' || !VERSION_OPERATORS.has(operator),
  );
}

/** Reserved fields, which every device has independently of its labels. */
export const FIELD_KEYS: readonly string[] = ['$version', '$platform', '$arch'];
