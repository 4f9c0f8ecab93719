// Targeting of a release, as text and as rows while a person edits it; rows may be incomplete and keep their
// order.

import { TARGET_OPERATORS } from '../../contract/choice.ts';
import type { TargetExpression, Targeting, TargetOperator } from '../../contract/resource.ts';
import { wordFor } from '../../contract/text.ts';

export type LabelRow = { readonly key: string; readonly values: readonly string[] };
export type TargetingDraft = {
  readonly labels: readonly LabelRow[];
  readonly expressions: readonly TargetExpression[];
};

const VERSION_OPERATORS: ReadonlySet<TargetOperator> = new Set(['VersionGte', 'VersionLt']);
const PRESENCE_OPERATORS: ReadonlySet<TargetOperator> = new Set(['Exists', 'DoesNotExist']);

export function targetingDraft(targets: Targeting | null): TargetingDraft {
  return {
    labels: Object.entries(targets?.matchLabels ?? {}).map(([key, values]) => ({ key, values })),
    expressions: targets?.matchExpressions ?? [],
  };
}

/** Converts rows to a targeting object; null, which targets every device, if there are none. */
export function targetingOf({ labels, expressions }: TargetingDraft): Targeting | null {
  if (labels.length === 0 && expressions.length === 0) return null;
  return {
    // From entries, because `__proto__` is a valid label key.
    matchLabels: Object.fromEntries(labels.map(({ key, values }) => [key, values])),
    matchExpressions: expressions.map(({ key, operator, values }) => ({
      key,
      operator,
      values: takesValues(operator) ? values : [],
    })),
  };
}

/** Row that is incomplete, and what it lacks. */
type DraftObstacle = {
  /** Path of the row in the request. */
  readonly path: string;
  readonly reason: string;
};

/** Returns the path of a label's row in the request. */
export function labelPath(key: string): string {
  return `targets.matchLabels.${key}`;
}

/** Returns the path of an expression's row in the request. */
export function expressionPath(index: number): string {
  return `targets.matchExpressions.${index}`;
}

/** Returns the first incomplete row; undefined if all rows are complete. */
export function draftObstacle({ labels, expressions }: TargetingDraft): DraftObstacle | undefined {
  const faults = [
    ...labels.map((row, index) => {
      const isTwice = labels.slice(0, index).some(({ key }) => key === row.key);
      return { path: labelPath(row.key), reason: labelFault(row, isTwice) };
    }),
    ...expressions.map((row, index) => ({
      path: expressionPath(index),
      reason: expressionFault(row),
    })),
  ];
  return faults.find((fault): fault is DraftObstacle => fault.reason !== undefined);
}

function labelFault({ key, values }: LabelRow, isTwice: boolean): string | undefined {
  if (key === '') return 'A label needs a name.';
  if (isTwice) return 'A label stands there twice: put its values together.';
  return values.length === 0 ? `The label ${key} needs a value.` : undefined;
}

function expressionFault({ key, operator, values }: TargetExpression): string | undefined {
  if (key === '') return 'A condition needs a field.';
  if (takesValues(operator) && values.length === 0) return `The condition on ${key} needs a value.`;
  const isMany = VERSION_OPERATORS.has(operator) && values.length > 1;
  return isMany ? 'A version is compared with exactly one other.' : undefined;
}

export function takesValues(operator: TargetOperator): boolean {
  return !PRESENCE_OPERATORS.has(operator);
}

/** Returns the valid operators for a field. */
export function operatorsFor(key: string): readonly TargetOperator[] {
  return TARGET_OPERATORS.filter(
    (operator) => key === '$version' || !VERSION_OPERATORS.has(operator),
  );
}

/** Reserved fields, which every device has. */
export const FIELD_KEYS: readonly string[] = ['$version', '$platform', '$arch'];

const FIELD_NAMES: Readonly<Record<string, string>> = {
  $version: 'version',
  $platform: 'platform',
  $arch: 'architecture',
};

/** Returns one clause per condition, all of which must hold; empty for every device. */
export function targetingText(targets: Targeting | null): readonly string[] {
  if (targets === null) return [];
  const labels = Object.entries(targets.matchLabels).map(
    ([key, values]) => `${fieldText(key)} is ${listText(values, 'or')}`,
  );
  return [...labels, ...targets.matchExpressions.map(expressionText)];
}

/** Returns an expression as a clause, such as `version is 1.2.0 or newer`. */
export function expressionText({ key, operator, values }: TargetExpression): string {
  const field = fieldText(key);
  switch (operator) {
    case 'In':
      return `${field} is ${listText(values, 'or')}`;
    case 'NotIn':
      return values.length === 1
        ? `${field} is not ${listText(values, 'or')}`
        : `${field} is neither ${listText(values, 'nor')}`;
    case 'Exists':
      return `${field} is set`;
    case 'DoesNotExist':
      return `${field} is not set`;
    case 'VersionGte':
      return `${field} is ${values.join(', ')} or newer`;
    case 'VersionLt':
      return `${field} is older than ${values.join(', ')}`;
  }
}

function fieldText(key: string): string {
  return wordFor(FIELD_NAMES, key);
}

/** Lists values in direction isolates, so that right-to-left values do not reorder the text around them. */
function listText(values: readonly string[], joint: 'or' | 'nor'): string {
  const shown = values.map((value) => (value === '' ? '(empty)' : `\u2068${value}\u2069`));
  if (shown.length <= 1) return shown.join('');
  return `${shown.slice(0, -1).join(', ')} ${joint} ${shown.at(-1)}`;
}
